// Highlights the program of a %%sequential cell in JupyterLab's editor. The CSS Custom Highlight API colours ranges of
// text without changing the editor's elements. notebook.py puts this function into the cell's output, and calls it there.
// pattern: a regular expression with a named group for each kind of token, such as (?<comment>...).
((pattern) => {
  const output = document.currentScript?.parentElement;
  const cell = output?.closest(".jp-CodeCell");
  if (!cell || !window.CSS?.highlights || !cell.querySelector(".cm-content")) return;
  const editors = (window.naiveGraphCells ??= new Set());  // of all %%sequential cells on the page

  // The text of an editor without its first line, and its text nodes as pairs [offset in the text, node].
  function readEditor(editor) {
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

  // The ranges of text nodes that lie between two offsets of the text.
  function rangesBetween(start, end, nodes) {
    return nodes.flatMap(([offset, node]) => {
      const [from, to] = [Math.max(start, offset), Math.min(end, offset + node.length)];
      if (from >= to) return [];
      return [new StaticRange({
        startContainer: node, startOffset: from - offset, endContainer: node, endOffset: to - offset,
      })];
    });
  }

  // A highlight belongs to the whole page, so all editors are read again.
  function highlightAll() {
    const rangesByKind = {};
    for (const editor of editors) {
      if (!editor.isConnected) editors.delete(editor);
      const [text, nodes] = readEditor(editor);
      if (!editor.textContent.startsWith("%%sequential")) continue;
      for (const match of text.matchAll(new RegExp(pattern, "g")))
        for (const [kind, token] of Object.entries(match.groups))
          if (token) (rangesByKind[kind] ??= []).push(...rangesBetween(match.index, match.index + token.length, nodes));
    }
    for (const [kind, ranges] of Object.entries(rangesByKind)) CSS.highlights.set(`ng-${kind}`, new Highlight(...ranges));
  }

  const editor = cell.querySelector(".cm-content");
  if (!editors.has(editor)) {
    new MutationObserver(highlightAll).observe(editor, { childList: true, characterData: true, subtree: true });
  }
  editors.add(editor);
  cell.classList.add("ng-program");
  output.querySelector("pre").hidden = true;  // the highlighted copy, which the editor makes superfluous
  highlightAll();
})
