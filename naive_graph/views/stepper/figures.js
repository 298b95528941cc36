// What every part of the stepper needs: the walk out of its bytes.
// Every text of the learner's is put in as text, never as markup.

/** Drawings and formulas, made in Python with every text escaped; what could act is taken out all the same. */
function parsed(text, type) {
  const root = new DOMParser().parseFromString(text, type).documentElement;
  for (const each of root.querySelectorAll("script, foreignObject, a, use, image, style, animate, set")) each.remove();
  for (const each of [root, ...root.querySelectorAll("*")]) {
    for (const name of each.getAttributeNames()) if (/^on|href|^style$/i.test(name)) each.removeAttribute(name);
  }
  return document.importNode(root, true);
}

/** Words with their blanks filled in. */
const filled = (words, blanks) => words.replace(/\{(\w+)\}/g, (_, name) => blanks[name]);

const ordinal = (place) => ["1st", "2nd", "3rd"][place] ?? `${place + 1}th`;

/** The first that fit, and how many more there are. */
function some(things, most) {
  return things.length <= most ? [things, 0] : [things.slice(0, most), things.length - most];
}

/** The last place whose start is no more than `at`; the starts ascend. */
function placeAmong(starts, at, count) {
  let low = 0;
  for (let high = count; high - low > 1;) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= at) low = middle;
    else high = middle;
  }
  return low;
}

/** A walk out of its bytes (see views/steps/packing.py): its header, and a way to read its columns. */
async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const whole = await new Response(stream).arrayBuffer();
  const end = 8 + new DataView(whole).getUint32(0, true);
  const walk = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 8, end - 8)));
  walk.column = (Type, [place, count]) => new Type(whole, end + place, count);
  return walk;
}
