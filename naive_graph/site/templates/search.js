{
  const wish = document.getElementById("wish"), found = document.getElementById("found");
  const plain = (text) => text.toLowerCase().replace(/[\s_]/g, "");
  const all = [...document.querySelectorAll(".names li")].map((item) => [item, plain(item.textContent + (item.dataset.also || ""))]);
  const filter = () => {
    const text = plain(wish.value);
    for (const [item, words] of all) item.hidden = !words.includes(text);
    for (const group of document.querySelectorAll("section")) {
      group.hidden = !group.querySelector("li:not([hidden])") || (!text && group.className === "more");
    }
    found.textContent = text && `${all.filter(([item]) => !item.hidden).length} found`;
  };
  wish.closest("p").hidden = false;
  wish.addEventListener("input", filter);
  wish.addEventListener("keydown", (event) => {
    const first = all.find(([item]) => !item.hidden);
    if (event.key === "Enter" && wish.value && first) first[0].querySelector("a").click();
  });
  filter();
}
