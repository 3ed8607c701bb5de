// Buttons that copy: tables that are in the page, and the segments as they are listed.

async function copyText(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Some browsers keep the clipboard from files; the old way still works there.
    const area = make("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const label = button.dataset.label || (button.dataset.label = button.textContent);
  const name = button.dataset.name || (button.dataset.name = button.ariaLabel ?? "");
  button.textContent = done ? "Copied" : "Copying failed: select the text";
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

// What is listed, to copy: all of it as TSV, what a page of paper holds in the other forms.
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
  const row = (cells, escape) => `| ${cells.map(escape).join(" | ")} |`;
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
      return [
        row(head, markdown),
        `|${"---|".repeat(head.length)}`,
        ...rows.map((cells) => row(cells, markdown)),
      ].join("\n");
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
