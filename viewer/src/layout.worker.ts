import { type LayoutAnswer, type LayoutTask, layoutTree } from "./layout";

self.onmessage = (event: MessageEvent<LayoutTask>): void => {
  const begin = performance.now();
  const answer: LayoutAnswer = { id: event.data.id, root: null, milliseconds: 0, error: "" };
  try {
    answer.root = layoutTree(event.data.root);
  } catch (error) {
    answer.error = (error as Error).message;
  }
  answer.milliseconds = performance.now() - begin;
  self.postMessage(answer);
};
