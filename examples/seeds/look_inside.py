"""Print, change and question values while the graph is being made; declare nothing."""

import weft as torch


def normalize(rows):
    total = rows.sum(dim=1, keepdim=True)
    print("sums", total.flatten().tolist())
    if (total == 0).any():
        print("a row of zeros: left alone")
        total = torch.where(total == 0, torch.ones_like(total), total)
    share = rows / total
    share.register_hook(lambda gradient: print("gradient of the shares", gradient.tolist()))
    return share


rows = torch.tensor([[1.0, 3.0], [0.0, 0.0]], requires_grad=True)
share = normalize(rows)
print(share)
(share * torch.tensor([1.0, 2.0])).sum().backward()
print(rows.grad)
