"use strict";
(() => {
  const CONTEXT = 3;
  const data = JSON.parse(document.getElementById("data").textContent);
  const on = new Set(data.ticked);
  const $ = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // What each choice writes by itself, by file, and who belongs to whom there.
  const alone = data.choices.map((edits) => {
    const byFile = new Map();
    for (const [file, part, start, end, text] of edits) {
      if (!byFile.has(file)) byFile.set(file, []);
      byFile.get(file).push([part, start, end, text]);
    }
    return byFile;
  });

  function editsOf(file) {
    const out = [];
    const done = new Set();
    for (const cluster of data.clusters) {
      if (cluster.file !== file) continue;
      const some = cluster.members.filter((i) => on.has(i));
      const together = cluster.together[some.join(" ")];
      if (together) {
        out.push(...together);
        some.forEach((i) => done.add(i));
      }
    }
    for (const i of [...on].sort((a, b) => a - b)) {
      if (!done.has(i)) out.push(...(alone[i].get(file) || []));
    }
    return out;
  }

  const linesOf = (text) => text.match(/[^\n]*\n|[^\n]+$/g) || [];

  /* What differs between two lists of lines: [from, removed lines, added lines]. */
  function differences(old, now, from) {
    let head = 0;
    while (head < old.length && head < now.length && old[head] === now[head]) head++;
    let tail = 0;
    const most = Math.min(old.length, now.length) - head;
    while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
    const a = old.slice(head, old.length - tail);
    const b = now.slice(head, now.length - tail);
    if (!a.length && !b.length) return [];
    if (!a.length || !b.length || a.length * b.length > 250000) return [[from + head, a, b]];
    const best = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
      }
    }
    const out = [];
    let i = 0, j = 0, open = null;
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) {
        open = null;
        i++;
        j++;
        continue;
      }
      if (!open) out.push((open = [from + head + i, [], []]));
      if (i < a.length && (j >= b.length || best[i + 1][j] >= best[i][j + 1])) open[1].push(a[i++]);
      else open[2].push(b[j++]);
    }
    return out;
  }

  /* The changes some edits make to one part of a file. */
  function changesOf(text, lines, starts, edits) {
    const lineAt = (offset) => {
      let low = 0, high = starts.length;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (starts[middle] <= offset) low = middle;
        else high = middle;
      }
      return offset >= text.length && text.endsWith("\n") ? lines.length : low;
    };
    const seen = new Set();
    const sorted = edits
      .filter((e) => !seen.has(e.join("\0")) && seen.add(e.join("\0")))
      .sort((x, y) => x[0] - y[0] || x[1] - y[1]);
    const blocks = [];
    for (const edit of sorted) {
      const first = lineAt(edit[0]), last = lineAt(edit[1]);
      const open = blocks[blocks.length - 1];
      if (open && first <= open.last) {
        open.last = Math.max(open.last, last);
        open.edits.push(edit);
      } else blocks.push({ first, last, edits: [edit] });
    }
    const out = [];
    for (const { first, last, edits: mine } of blocks) {
      const start = first < lines.length ? starts[first] : text.length;
      const end = last + 1 < lines.length ? starts[last + 1] : text.length;
      let at = start, now = "";
      for (const [from, to, put] of mine) {
        if (from < at) throw new Error("these fixes cannot be taken together");
        now += text.slice(at, from) + put;
        at = to;
      }
      now += text.slice(at, end);
      out.push(...differences(lines.slice(first, last + 1), linesOf(now), first));
    }
    return out;
  }

  const range = (start, length) =>
    length === 1 ? String(start) : `${length === 0 ? start - 1 : start},${length}`;

  function fileDiff(file, index) {
    const byPart = new Map();
    for (const [part, ...edit] of editsOf(index)) {
      if (!byPart.has(part)) byPart.set(part, []);
      byPart.get(part).push(edit);
    }
    let out = "", moved = 0, hunks = 0;
    const put = (sign, line) => sign + line + (line.endsWith("\n") ? "" : "\n\\ No newline at end of file\n");
    for (const part of [...byPart.keys()].sort((a, b) => a - b)) {
      const [number, text] = file.parts[part];
      const lines = linesOf(text);
      const starts = [];
      lines.reduce((at, line) => (starts.push(at), at + line.length), 0);
      const changes = changesOf(text, lines, starts, byPart.get(part));
      for (let i = 0; i < changes.length; ) {
        let j = i;
        const stop = (k) => changes[k][0] + changes[k][1].length;
        while (j + 1 < changes.length && changes[j + 1][0] - stop(j) <= 2 * CONTEXT) j++;
        const from = Math.max(changes[i][0] - CONTEXT, 0);
        const to = Math.min(stop(j) + CONTEXT, lines.length);
        let body = "", grown = 0, at = from;
        for (const [where, gone, come] of changes.slice(i, j + 1)) {
          for (; at < where; at++) body += put(" ", lines[at]);
          for (const line of gone) body += put("-", line);
          for (const line of come) body += put("+", line);
          at += gone.length;
          grown += come.length - gone.length;
        }
        for (; at < to; at++) body += put(" ", lines[at]);
        const old = number + from;
        out += `@@ -${range(old, to - from)} +${range(old + moved, to - from + grown)} @@\n${body}`;
        moved += grown;
        hunks++;
        i = j + 1;
      }
    }
    return { text: out && file.head + out, hunks };
  }

  // Only files that a change of ticks can touch are put together anew.
  const made = data.files.map(() => ({ text: "", hunks: 0 }));
  const stale = new Set(data.files.keys());

  function patch() {
    for (const index of stale) {
      made[index] = fileDiff(data.files[index], index);
      stale.delete(index);
    }
    return {
      text: made.map((one) => one.text).join(""),
      hunks: made.reduce((sum, one) => sum + one.hunks, 0),
      files: made.filter((one) => one.text).length,
    };
  }

  const plural = (n, one, many) => `${n} ${n === 1 ? one : many || one + "s"}`;
  let current = { text: "", hunks: 0, files: 0 };
  const boxes = all("input[data-tick]");
  const picks = all("article[data-choice]");
  const stages = new Map(all("[data-then]").map((stage) => [Number(stage.dataset.then), stage]));

  function show() {
    for (const box of boxes) {
      const ticked = on.has(Number(box.dataset.tick));
      if (box.checked !== ticked) box.checked = ticked;
    }
    for (const card of picks) card.classList.toggle("on", on.has(Number(card.dataset.choice)));
    let told = `${on.size} of ${plural(data.choices.length, "fix", "fixes")} ticked`;
    try {
      current = patch();
      told += `: ${plural(current.hunks, "hunk")} in ${plural(current.files, "file")}`;
    } catch (error) {
      current = { text: "", hunks: 0, files: 0 };
      told += `; ${error.message}`;
    }
    $("status").textContent = told;
    $("download").disabled = !current.text;
    $("copy").disabled = !current.text;
    if ($("preview").open) $("patch").textContent = current.text;
    let written = 0;
    data.launches.forEach((findings, index) => {
      const left = { breaks: 0, ignored: 0, differs: 0 };
      for (const [effect, choice] of findings) {
        if (choice !== null && on.has(choice)) written++;
        else if (effect in left) left[effect]++;
      }
      const stage = stages.get(index);
      if (!stage) return;
      const rest = [];
      if (left.ignored) rest.push(`${plural(left.ignored, "setting")} still ignored`);
      if (left.differs) rest.push(`${plural(left.differs, "thing")} still different`);
      stage.querySelector("strong").textContent = left.breaks ? "still does not start" : "nothing known stops it";
      stage.querySelector("small").textContent = [
        ...(left.breaks ? [`${plural(left.breaks, "thing")} left that it refuses`] : []),
        ...rest,
      ].join(", ");
      stage.className = `stage ${left.breaks ? "bad" : rest.length ? "fair" : "good"}`;
    });
    $("written").textContent = String(written);
  }

  function put(choice, ticked) {
    if (on.has(choice) === ticked) return;
    if (ticked) on.add(choice);
    else on.delete(choice);
    for (const file of alone[choice].keys()) stale.add(file);
  }

  function tick(choice, ticked) {
    put(choice, ticked);
    show();
  }

  document.addEventListener("change", (event) => {
    const box = event.target.closest("input[data-tick]");
    if (box) tick(Number(box.dataset.tick), box.checked);
  });

  // Filters.
  const cards = all("article");
  const visible = () => cards.filter((card) => !card.hidden);
  function filter() {
    const rule = $("f-rule").value, safety = $("f-safety").value, severity = $("f-severity").value;
    const path = $("f-path").value.trim().toLowerCase();
    for (const card of cards) {
      const of = card.dataset;
      card.hidden =
        (rule && !of.rule.split(" ").includes(rule)) ||
        (safety && of.safety !== safety) ||
        (severity && !of.severity.split(" ").includes(severity)) ||
        (path && !of.path.toLowerCase().includes(path));
    }
    for (const section of all("section.launch")) section.hidden = !section.querySelector("article:not([hidden])");
    for (const entry of all("nav li[data-for]")) entry.hidden = $(entry.dataset.for).hidden;
    const shown = visible().length;
    $("shown").textContent = shown === cards.length ? `all ${shown} shown` : `${shown} of ${cards.length} shown`;
  }
  for (const name of ["f-rule", "f-safety", "f-severity"]) $(name).addEventListener("change", filter);
  $("f-path").addEventListener("input", filter);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", () => setTimeout(filter));

  function tickShown(ticked) {
    for (const card of visible()) {
      if (card.dataset.choice !== undefined) put(Number(card.dataset.choice), ticked);
    }
    show();
  }
  $("tick-shown").addEventListener("click", () => tickShown(true));
  $("untick-shown").addEventListener("click", () => tickShown(false));

  $("download").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([current.text], { type: "text/x-patch" }));
    link.download = data.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  $("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(current.text);
      $("status").textContent = "The patch is on the clipboard.";
    } catch {
      $("preview").open = true;
      $("status").textContent = "The clipboard is closed to this page: copy the patch from below.";
    }
  });
  $("preview").addEventListener("toggle", () => {
    if ($("preview").open) $("patch").textContent = current.text;
  });

  // Keys: j and k go through the cards, space ticks, x explains.
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("select, textarea, input:not([type=checkbox])");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = visible();
    const here = event.target.closest("article");
    const index = here ? shown.indexOf(here) : -1;
    if (event.key === "j" || event.key === "k") {
      const next = event.key === "j" ? index + 1 : index < 0 ? shown.length - 1 : index - 1;
      if (shown[next]) {
        shown[next].focus();
        shown[next].scrollIntoView({ block: "nearest" });
      }
      event.preventDefault();
    } else if (event.key === " " && here === event.target && here.dataset.choice !== undefined) {
      tick(Number(here.dataset.choice), !on.has(Number(here.dataset.choice)));
      event.preventDefault();
    } else if (event.key === "x" && here) {
      const reasons = all("details", here);
      const open = reasons.every((one) => one.open);
      for (const one of reasons) one.open = !open;
      event.preventDefault();
    } else if (event.key === "/") {
      $("f-path").focus();
      event.preventDefault();
    }
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("article details:not([open])");
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });

  document.documentElement.classList.add("live");
  filter();
  show();
})();
