// dot itself in the page: the bytes that Python runs, kept once for all drawings. Nothing is given to it but texts.

/** A function from DOT text to dot's places; null where no copy of dot is in the page. */
function dotReady(code = document.querySelector("script.ng-dot")?.textContent) {
  if (!window.ngDot && code) window.ngDot = compiled(code);
  return window.ngDot ?? Promise.resolve(null);
}

async function compiled(code) {
  const bytes = Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
  return (text) => {  // an instance for each text: what one run left behind, or a trap, reaches no other
    let memory;
    const put = (at, value) => { new DataView(memory.buffer).setUint32(at, value, true); return 0; };
    const wasi = new Proxy({  // what dot asks of its surroundings: no files, no arguments, no clock, no output
      environ_sizes_get: (a, b) => put(a, 0) || put(b, 0), environ_get: () => 0, fd_prestat_get: () => 8,
      clock_time_get: (id, precision, at) => put(at, 0) || put(at + 4, 0), fd_close: () => 0, random_get: () => 0,
      fd_write: (file, list, count, at) => put(at, 0), proc_exit: (status) => { throw Error(`dot ended: ${status}`); },
    }, { get: (known, name) => known[name] ?? (() => 8) });
    const dot = new WebAssembly.Instance(module, { wasi_snapshot_preview1: wasi }).exports;
    memory = dot.memory;
    const words = (said) => {
      const data = new TextEncoder().encode(`${said}\0`), at = dot.malloc(data.length);
      new Uint8Array(memory.buffer).set(data, at);
      return at;
    };
    const size = dot.malloc(4), at = dot.graphviz_render(words(text), words("json0"), words("dot"), size);
    if (!at) throw Error("dot did not lay this graph out");
    const long = new DataView(memory.buffer).getUint32(size, true);
    return JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, at, long)));
  };
}
