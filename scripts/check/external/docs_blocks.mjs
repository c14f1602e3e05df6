// Parses the fenced code blocks of a Markdown page. scripts/check/external/docs --help lists the kinds of blocks.

const kinds = new Set(['sh', 'sh service', 'text output', 'json output', 'console', 'text', 'json', 'yaml', 'go', 'ts', 'python']);

// blocks returns {kind, line, text} for each block; line is the number of its first line of text, from 1. It throws an error for
// an unknown kind and for a block that is indented or has no end.
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
    if (fence[1] !== '') throw new Error(`${at}: a code block must not be indented`);
    const kind = fence[2].trim();
    if (kind !== '' && !kinds.has(kind)) throw new Error(`${at}: unknown kind of code block "${kind}"; must be one of ${[...kinds].join(', ')}`);
    open = { kind, line: n + 2, lines: [] };
  });
  if (open) throw new Error(`${page}:${open.line - 1}: the code block has no end`);
  return found;
}

// prose returns the lines of a page, with empty lines in place of code blocks.
export function prose(markdown) {
  let inside = false;
  return markdown.split('\n').map(line => {
    if (/^ *```/.test(line)) { inside = !inside; return ''; }
    return inside ? '' : line;
  });
}
