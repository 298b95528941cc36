{
  const slides = [...document.querySelectorAll(".slide")];
  const isCrowded = (slide) => slide.scrollHeight > slide.clientHeight + 1;
  const fit = () => slides.forEach((slide) => {  // its text is set smaller until it has room
    slide.style.fontSize = "";
    for (let size = 23; size > 8 && isCrowded(slide); size--) slide.style.fontSize = `${size}px`;
  });
  addEventListener("resize", fit);
  fit();
  const steps = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Home: -1e9, End: 1e9 };
  addEventListener("keydown", (event) => {
    const step = event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("summary") ? 0 : steps[event.key] * (event.key === " " && event.shiftKey ? -1 : 1);
    if (!step) return;
    event.preventDefault();
    const here = slides.findIndex((slide) => slide.getBoundingClientRect().bottom > innerHeight / 2);
    location.replace(`#${slides[Math.min(Math.max(here + step, 0), slides.length - 1)].id}`);
  });
}
