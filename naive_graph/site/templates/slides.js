{
  const slides = [...document.querySelectorAll(".slide")];
  const steps = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Home: -1e9, End: 1e9 };
  addEventListener("keydown", (event) => {
    const step = event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("summary") ? 0 : steps[event.key] * (event.key === " " && event.shiftKey ? -1 : 1);
    if (!step) return;
    event.preventDefault();
    const here = slides.findIndex((slide) => slide.getBoundingClientRect().bottom > innerHeight / 2);
    location.replace(`#${slides[Math.min(Math.max(here + step, 0), slides.length - 1)].id}`);
  });
}
