"""A stepper in a browser's page, as a test sees it and drives it."""

from __future__ import annotations

from typing import Any


def offline_page(browser: Any) -> Any:
    """A page without a network, where nothing moves; its `problems` are what a browser complains of."""
    view = browser.new_context(offline=True, reduced_motion="reduce").new_page()
    view.problems = []
    view.on("pageerror", lambda error: view.problems.append(str(error)))
    view.on("console", lambda message: message.type == "error" and view.problems.append(message.text))
    view.on("dialog", lambda dialog: view.problems.append("a script of the learner's ran"))
    return view


def visit(view: Any, address: str, viewport: Any = None, color_scheme: str = "light", motion: str = "reduce") -> None:
    """Open an address in a page that showed another: to open a page of its own takes a second of processor time."""
    view.problems.clear()
    view.mouse.move(0, 0)
    view.set_viewport_size(viewport or {"width": 1280, "height": 720})
    view.emulate_media(color_scheme=color_scheme, reduced_motion=motion)
    view.goto(address)


SENTENCES = """count => {
  const slider = document.querySelector(".ng-stepper input[type=range]");
  return Array.from({ length: count }, (_, index) => {
    slider.value = index;
    slider.dispatchEvent(new Event("input"));
    return document.querySelector(".ng-sentence").innerText;
  });
}"""


class Seen:
    """A stepper in a browser's page."""

    def __init__(self, view: Any) -> None:
        self.view = view
        self.root = view.locator(".ng-stepper")
        self.root.wait_for()
        view.evaluate("window.ngDot?.then(() => new Promise(requestAnimationFrame)).then(() => 0)")  # laid out
        self.at(0)

    def at(self, index: int) -> None:
        self.root.and_(self.view.locator(f"[data-step='{index}']")).wait_for()

    def go(self, index: int) -> None:
        """Go to a step as the slider does."""
        slider = self.root.get_by_role("slider", name="step")
        slider.evaluate("(slider, index) => { slider.value = index; slider.dispatchEvent(new Event('input')); }", index)
        self.at(index)

    def press(self, key: str) -> None:
        self.view.keyboard.press(key)

    def click(self, label: str) -> None:
        self.root.get_by_role("button", name=label, exact=True).click()

    def find(self, wish: str) -> None:
        """Say what to find, without going there."""
        self.root.get_by_role("combobox", name="find").fill(wish)

    @property
    def sentence(self) -> str:
        return str(self.root.locator(".ng-sentence").inner_text())

    def sentences(self, count: int) -> list[str]:
        """What is said of each of so many steps, as the slider leads to them."""
        return list(self.view.evaluate(SENTENCES, count))

    def texts(self, kind: str) -> dict[int, str]:
        """What is written on the nodes: values or gradients, by row."""
        found = self.view.evaluate(
            "kind => [...document.querySelectorAll('.ng-drawing g[id^=\"row-\"]')].map(g => "
            "[Number(g.id.slice(4)), g.querySelector(kind)?.textContent ?? ''])",
            f".ng-{kind}",
        )
        return {row: text for row, text in found if text}

    def marked(self, name: str) -> set[str]:
        return set(self.view.evaluate(f"[...document.querySelectorAll('.ng-drawing .ng-{name}')].map(g => g.id)"))
