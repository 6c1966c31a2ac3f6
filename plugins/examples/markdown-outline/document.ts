// Markdown, as far as its outline needs it: which lines are headings, and where sections end.

// Heading is one of a document.
export class Heading {
  constructor(public line: i32, public level: i32, public title: string) {} // lines are counted from 1
}

// Section is a range of lines, both included, with the headings in it.
export class Section {
  constructor(public from: i32, public to: i32, public headings: Heading[]) {}
}

export class Document {
  lines: string[];
  headings: Heading[] = [];

  private fence: string = ""; // what opened the code that goes on
  private comment: bool = false; // one goes on
  private paragraph: i32 = 0; // the line that began the one that goes on, which an underline makes a heading
  private block: bool = false; // a list or quotation goes on, whose text no underline does

  constructor(text: string) {
    this.lines = text.replaceAll("\r\n", "\n").split("\n");
    if (this.lines[this.lines.length - 1] == "") this.lines.pop();
    for (let line = this.frontMatter() + 1; line <= this.lines.length; line++) this.read(line);
  }

  // section answers the section in which a line stands: from its heading to the next of the same level or
  // above it. What comes before the first heading is a section too.
  section(line: i32): Section {
    let first = -1;
    while (first + 1 < this.headings.length && this.headings[first + 1].line <= line) first++;
    const level = first < 0 ? 6 : this.headings[first].level;
    let next = first + 1;
    while (next < this.headings.length && this.headings[next].level > level) next++;
    return new Section(first < 0 ? 1 : this.headings[first].line, next < this.headings.length ? this.headings[next].line - 1 : this.lines.length,
      this.headings.slice(max(first, 0), next));
  }

  // frontMatter answers how many lines it has, which are no Markdown.
  private frontMatter(): i32 {
    if (this.lines.length == 0 || this.lines[0].trimEnd() != "---") return 0;
    for (let i = 1; i < this.lines.length; i++) {
      if (this.lines[i].trimEnd() == "---") return i + 1;
    }
    return 0;
  }

  private read(line: i32): void {
    const written = this.lines[line - 1], text = written.trim();
    if (this.comment) {
      this.comment = !text.includes("-->");
      return;
    }
    if (this.fence != "") {
      if (text.startsWith(this.fence) && only(text, text.charCodeAt(0))) this.fence = "";
      return;
    }
    if (text == "") {
      this.end();
      return;
    }
    if (written.startsWith("    ") || written.startsWith("\t")) return; // code, or more of what goes on
    const fence = run(text, 0x60) + run(text, 0x7e); // ` and ~
    const level = run(text, 0x23); // #
    if (fence >= 3 && !text.includes("`", run(text, 0x60))) {
      this.end();
      this.fence = text.slice(0, fence);
    } else if (text.startsWith("<!--")) {
      this.end();
      this.comment = !text.includes("-->");
    } else if (level >= 1 && level <= 6 && (text.length == level || blank(text.charCodeAt(level)))) {
      this.end();
      this.headings.push(new Heading(line, level, unclosed(text.slice(level).trim())));
    } else if (this.paragraph > 0 && (only(text, 0x3d) || only(text, 0x2d))) { // = and -
      const title = this.lines.slice(this.paragraph - 1, line - 1).map<string>(one => one.trim()).join(" ");
      this.headings.push(new Heading(this.paragraph, text.charCodeAt(0) == 0x3d ? 1 : 2, title));
      this.end();
    } else if (starts(text)) {
      this.end();
      this.block = true;
    } else if (this.paragraph == 0 && !this.block) {
      this.paragraph = line;
    }
  }

  // end ends what went on.
  private end(): void {
    this.paragraph = 0;
    this.block = false;
  }
}

// starts reports whether a line begins a list or a quotation, or is a rule.
function starts(text: string): bool {
  const first = text.charCodeAt(0);
  if (first == 0x3e || only(text, first) && (first == 0x2a || first == 0x2d || first == 0x5f)) return true; // >, or a rule of * - _
  if (first == 0x2a || first == 0x2b || first == 0x2d) return text.length == 1 || blank(text.charCodeAt(1)); // * + -
  let digits = 0;
  while (digits < text.length && text.charCodeAt(digits) >= 0x30 && text.charCodeAt(digits) <= 0x39) digits++;
  return digits > 0 && digits + 1 < text.length && (text.charCodeAt(digits) == 0x2e || text.charCodeAt(digits) == 0x29) && blank(text.charCodeAt(digits + 1));
}

// unclosed is a title without the marks that may close it.
function unclosed(title: string): string {
  let end = title.length;
  while (end > 0 && title.charCodeAt(end - 1) == 0x23) end--;
  return end == 0 || blank(title.charCodeAt(end - 1)) ? title.slice(0, end).trimEnd() : title;
}

// run answers how many times a text begins with a character.
function run(text: string, code: i32): i32 {
  let n = 0;
  while (n < text.length && text.charCodeAt(n) == code) n++;
  return n;
}

function only(text: string, code: i32): bool { return run(text, code) == text.length; }
function blank(code: i32): bool { return code == 0x20 || code == 0x09; }
