// Finds entries by their words: whole, begun, or with a typing error. Each entry is [title, address, kind, words, remark].
{
  const wish = document.getElementById("wish"), found = document.getElementById("found"), hits = document.getElementById("hits");
  const MOST = 60, split = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const known = new Map();  // a word, and in which entries it stands: 3 in the title, 1 elsewhere
  index.forEach(([title, , , words, remark], place) => {
    for (const [text, weight] of [[`${words} ${remark}`, 1], [title, 3]]) for (const word of split(text)) {
      if (!known.has(word)) known.set(word, new Map());
      known.get(word).set(place, weight);
    }
  });
  /** Whether one word becomes the other by so few changes: a letter more, less, or another, or two exchanged. */
  function near(one, other, most) {
    if (Math.abs(one.length - other.length) > most) return false;
    let [older, last] = [[], Array.from({ length: other.length + 1 }, (_, each) => each)];
    for (let row = 1; row <= one.length; row += 1) {
      const now = [row];
      for (let column = 1; column <= other.length; column += 1) {
        const same = one[row - 1] === other[column - 1] ? 0 : 1;
        now[column] = Math.min(last[column] + 1, now[column - 1] + 1, last[column - 1] + same);
        if (row > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) now[column] = Math.min(now[column], older[column - 2] + 1);
      }
      [older, last] = [last, now];
    }
    return last.at(-1) <= most;
  }
  function scores(asked) {
    const scored = new Map(), give = (places, factor) => { for (const [place, weight] of places) scored.set(place, Math.max(scored.get(place) ?? 0, factor * weight)); };
    for (const [word, places] of known) {
      if (word === asked) give(places, 4);
      else if (asked.length > 1 && word.startsWith(asked)) give(places, 2);
    }
    if (scored.size || asked.length < 4) return scored;
    for (const [word, places] of known) if (near(asked, word, asked.length > 7 ? 2 : 1)) give(places, 1);
    return scored;
  }
  function search(text) {
    const asked = split(text), each = asked.map(scores), total = new Map();
    for (const one of each) for (const [place, score] of one) total.set(place, (total.get(place) ?? 0) + score);
    const all = [...total].filter(([place]) => each.every((one) => one.has(place)));
    return (all.length ? all : [...total]).sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([place]) => index[place]);
  }
  function show() {
    const all = wish.value.trim() ? search(wish.value) : [];
    found.textContent = wish.value.trim() ? `${all.length} found` : "";
    hits.replaceChildren(...all.slice(0, MOST).map(([title, address, kind, , remark]) => {
      const item = document.createElement("li"), link = document.createElement("a"), said = document.createElement("span");
      [link.href, link.textContent, said.className, said.textContent] = [address, title, "soft", `${kind}${remark ? `: ${remark}` : ""}`];
      item.append(link, " ", said);
      return item;
    }));
    history.replaceState(null, "", wish.value ? `#${encodeURIComponent(wish.value)}` : location.pathname + location.search);
  }
  wish.closest("p").hidden = false;
  wish.addEventListener("input", show);
  wish.addEventListener("keydown", (event) => { if (event.key === "Enter") hits.querySelector("a")?.click(); });
  try { wish.value = decodeURIComponent(location.hash.slice(1)); } catch { /* no words */ }
  if (wish.value) show();
  wish.focus();
}
