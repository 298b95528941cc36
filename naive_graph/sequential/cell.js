// Colours the cells of %%sequential where they stand: by highlights, which change nothing of the editor.
// Called in the output of such a cell, with the words by their kinds as one pattern.
((pattern) => {
  const shown = document.currentScript?.parentElement;
  const cell = shown?.closest(".jp-CodeCell");
  if (!cell || !window.CSS?.highlights || !cell.querySelector(".cm-content")) return;
  const cells = (window.naiveGraphCells ??= new Set());

  // The text of a cell without its first line, and each of its text nodes with the place where that begins.
  function read(editor) {
    const nodes = [];
    let text = "";
    for (const line of [...editor.querySelectorAll(".cm-line")].slice(1)) {
      const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        nodes.push([text.length, walker.currentNode]);
        text += walker.currentNode.data;
      }
      text += "\n";
    }
    return [text, nodes];
  }

  function rangesOf(start, end, nodes) {
    return nodes.flatMap(([at, node]) => {
      const [from, to] = [Math.max(start, at), Math.min(end, at + node.length)];
      return from < to ? [new StaticRange({ startContainer: node, startOffset: from - at, endContainer: node, endOffset: to - at })] : [];
    });
  }

  // Highlights are of the whole page, so all cells are read again.
  function paint() {
    const found = {};
    for (const each of cells) {
      if (!each.isConnected) cells.delete(each);
      const [text, nodes] = read(each);
      if (!each.textContent.startsWith("%%sequential")) continue;
      for (const match of text.matchAll(new RegExp(pattern, "g")))
        for (const [kind, word] of Object.entries(match.groups))
          if (word) (found[kind] ??= []).push(...rangesOf(match.index, match.index + word.length, nodes));
    }
    for (const [kind, ranges] of Object.entries(found)) CSS.highlights.set(`ng-${kind}`, new Highlight(...ranges));
  }

  const editor = cell.querySelector(".cm-content");
  if (!cells.has(editor)) new MutationObserver(paint).observe(editor, { childList: true, characterData: true, subtree: true });
  cells.add(editor);
  cell.classList.add("ng-program");
  shown.querySelector("pre").hidden = true; // it would say the same again
  paint();
})
