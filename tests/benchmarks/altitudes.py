"""How long the page of a LeNet takes to make and to open, how large it is, and how soon every number follows.

    python tests/benchmarks/altitudes.py [--picture figures/altitudes.png]

Needs chromium, playwright and scikit-learn, for its digits of 8 x 8. With
--picture it also photographs the page for the README.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from naive_graph import AdamTrainer, Sequential, altitudes
from naive_graph.sequential import Activation, Conv2D, Dense, MaxPooling2D

CHROMIUM = "/usr/bin/chromium"
RENEW = """() => {
  const { plan } = document.querySelector(".ng-altitudes"), start = performance.now();
  plan.renew();
  return performance.now() - start;
}"""


def lenet() -> tuple[Sequential, object, object]:
    """A LeNet that has learned some digits, and others that it has not seen."""
    digits = load_digits()
    data, labels = digits.images[..., None] / 16, digits.target
    layers = [Conv2D(6, (3, 3), padding=(1, 1)), Activation("relu"), MaxPooling2D((2, 2)), Conv2D(16, (3, 3))]
    layers += [Activation("relu"), MaxPooling2D((2, 2)), Dense(120), Activation("relu"), Dense(84), Activation("relu")]
    layers += [Dense(10), Activation("softmax")]
    network = Sequential(layers, (8, 8, 1), loss="crossEntropy", initializer="glorotUniform", name="LeNet")
    network.fit(data[:600], labels[:600], batch_size=20, epochs=4, trainer=AdamTrainer(network, 0.003), progress=False)
    return network, data[600:612], labels[600:612]


def measured(path: Path) -> None:
    network, data, labels = lenet()
    start = time.perf_counter()
    page = altitudes(network, data, labels)
    page.save(path)
    print(f"{page.told}: made in {time.perf_counter() - start:.1f} s, {path.stat().st_size / 1e6:.2f} MB")


def opened(path: Path, picture: Path | None) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector(".ng-altitudes[data-floor]")
        print(f"it opens in {time.perf_counter() - start:.2f} s")
        times = sorted(page.evaluate(RENEW) for _ in range(20))
        print(f"every number follows in {times[10]:.0f} ms (median of 20), {times[-1]:.0f} ms at worst")
        if picture is not None:
            photograph(page, picture)
        browser.close()


def photograph(page, picture: Path) -> None:
    """The tensors of the first convolution, with the window of one entry chosen."""
    page.keyboard.press("3")
    page.wait_for_selector(".ng-view g.node[role=button]")
    page.locator(".ng-view g.node[role=button]", has_text="Σ").first.click()
    page.wait_for_timeout(600)
    page.locator(".ng-altitudes").screenshot(path=str(picture))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", type=Path)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "lenet.html")
        measured(target)
        opened(target, chosen.picture)
