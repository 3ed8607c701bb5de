// Buttons that copy tables of the page and the listed segments.

async function copyText(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Some browsers do not let files use the clipboard; the old way still works there.
    const area = make("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.dataset.label ||= button.textContent;
  button.dataset.name ||= button.ariaLabel ?? "";
  const { label, name } = button.dataset;
  button.textContent = done ? "Copied" : "Could not copy: select the text";
  if (name) button.ariaLabel = button.textContent;
  setTimeout(() => {
    button.textContent = label;
    if (name) button.ariaLabel = name;
  }, 1600);
}

function startCopying() {
  document.querySelectorAll("button.copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => copyText(byId(button.dataset.copies).textContent, button));
  });
}

// Buttons that copy the listed segments: all rows as TSV, the first rows in the other formats.
function startExports(list) {
  const clean = (text) => String(text).replace(/[\p{Cc}\u2028\u2029]/gu, " ");
  const latex = (text) =>
    clean(text).replace(
      /[\\{}&%$#_~^<>|]/g,
      (sign) =>
        ({
          "\\": "\\textbackslash{}",
          "~": "\\textasciitilde{}",
          "^": "\\textasciicircum{}",
          "<": "\\textless{}",
          ">": "\\textgreater{}",
          "|": "\\textbar{}",
        })[sign] || `\\${sign}`,
    );
  const markdown = (text) =>
    clean(text)
      .replace(/[\\`*_[\]|~#]/g, "\\$&")
      .replace(/&/g, "&amp;")
      .replace(/</g, "&lt;")
      .replace(/>/g, "&gt;");
  const row = (cells) => `| ${cells.map(markdown).join(" | ")} |`;
  const forms = {
    TSV: () =>
      list
        .cells(Infinity)
        .map((cells) => cells.map(clean).join("\t"))
        .join("\n"),
    LaTeX: () => {
      const [head, ...rows] = list.cells(PRINTED).map((cells) => `${cells.map(latex).join(" & ")} \\\\`);
      const columns = "l".repeat(list.cells(0)[0].length);
      return [
        `\\begin{tabular}{${columns}}`,
        "\\toprule",
        head,
        "\\midrule",
        ...rows,
        "\\bottomrule",
        "\\end{tabular}",
      ].join("\n");
    },
    Markdown: () => {
      const [head, ...rows] = list.cells(PRINTED);
      return [row(head), `|${"---|".repeat(head.length)}`, ...rows.map((cells) => row(cells))].join("\n");
    },
  };
  const place = byId("segments-export");
  place.className = "export";
  Object.entries(forms).forEach(([form, text]) => {
    const button = make("button", {
      type: "button",
      text: form === "TSV" ? "Copy all rows as TSV" : `Copy ${PRINTED} rows as ${form}`,
    });
    button.addEventListener("click", () => copyText(`${text()}\n`, button));
    place.append(button);
  });
}
