// Reads the fenced code blocks of a Markdown page. What their first lines may say is in the manual of scripts/judges/docs.

const kinds = new Set(['sh', 'sh service', 'text output', 'json output', 'console', 'text', 'json', 'yaml', 'go']);

// blocks returns {kind, line, text} for each block; line is that of its first line of text, from 1. It throws for a page
// that the manual does not cover.
export function blocks(page, markdown) {
  const found = [];
  let open = null;
  markdown.split('\n').forEach((line, n) => {
    const at = `${page}:${n + 1}`;
    if (open) {
      if (line === '```') {
        open.text = open.lines.join('\n');
        delete open.lines;
        found.push(open);
        open = null;
      } else open.lines.push(line);
      return;
    }
    const fence = /^( *)```(.*)$/.exec(line);
    if (!fence) return;
    if (fence[1] !== '') throw new Error(`${at}: a code block that is indented is not run; begin it in the first column`);
    const kind = fence[2].trim();
    if (kind !== '' && !kinds.has(kind)) throw new Error(`${at}: unknown kind of code block "${kind}"; known are ${[...kinds].join(', ')}`);
    open = { kind, line: n + 2, lines: [] };
  });
  if (open) throw new Error(`${page}:${open.line - 1}: a code block without an end`);
  return found;
}

// prose returns the page with its code blocks blanked, line by line.
export function prose(markdown) {
  let inside = false;
  return markdown.split('\n').map(line => {
    if (/^ *```/.test(line)) { inside = !inside; return ''; }
    return inside ? '' : line;
  });
}
