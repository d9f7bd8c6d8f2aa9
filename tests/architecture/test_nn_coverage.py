"""The page of module classes says what the cases say."""

from scripts import generate_nn_coverage


def test_page_is_up_to_date() -> None:
    text = generate_nn_coverage.PAGE.read_text(encoding="utf-8")
    assert text == generate_nn_coverage.page(), "run `make docs`"
