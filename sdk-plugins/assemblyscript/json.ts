// JSON as a tree. Numbers keep the digits they were written with.

// Kind is what a value is.
export enum Kind { Null, True, False, Number, Text, List, Record }

// Json is a value: null when it is made with nothing.
export class Json {
  constructor(public kind: Kind = Kind.Null, public text: string = "") {} // a text, or a number's digits
  names: string[] = []; // of a record's members, in their order
  items: Json[] = []; // of a list, or of a record, one for each name

  // parse reads a text; null is one that is no JSON.
  static parse(text: string): Json | null {
    const bytes = String.UTF8.encode(text), at = changetype<usize>(bytes);
    const reader = new Reader(at, at + bytes.byteLength);
    const value = reader.whole();
    return reader.failed ? null : value;
  }

  static text(value: string): Json { return new Json(Kind.Text, value); }
  static integer(value: i64): Json { return new Json(Kind.Number, value.toString()); }
  // digits is a number as it is to be written: "0.5".
  static digits(value: string): Json { return new Json(Kind.Number, value); }
  static bool(value: bool): Json { return new Json(value ? Kind.True : Kind.False); }
  static list(items: Json[]): Json {
    const list = new Json(Kind.List);
    list.items = items;
    return list;
  }
  // record is an empty one, to which with adds members.
  static record(): Json { return new Json(Kind.Record); }

  // with adds a member and answers the record itself.
  with(name: string, value: Json): Json {
    this.names.push(name);
    this.items.push(value);
    return this;
  }

  has(name: string): bool { return this.kind == Kind.Record && this.names.includes(name); }

  // at answers a member, null where there is none.
  at(name: string): Json {
    const place = this.kind == Kind.Record ? this.names.indexOf(name) : -1;
    return place < 0 ? new Json() : this.items[place];
  }

  isText(value: string): bool { return this.kind == Kind.Text && this.text == value; }

  // toInteger answers a number without its fraction, 0 for what is none. F64.parseFloat(json.text) has all of it.
  toInteger(): i64 { return this.kind == Kind.Number ? I64.parseInt(this.text) : 0; }

  // toString writes the value as JSON.
  toString(): string {
    const written = new Writer();
    written.value(this);
    return written.toString();
  }
}

// Writer gathers bytes.
export class Writer {
  private buffer: ArrayBuffer = new ArrayBuffer(256);
  length: i32 = 0; // of what was written, in bytes

  // Where the bytes are, until more are written.
  get address(): usize { return changetype<usize>(this.buffer); }

  // room answers where so many more bytes go, and counts them.
  room(size: i32): usize {
    if (this.length + size > this.buffer.byteLength) {
      const grown = new ArrayBuffer(max(this.length + size, this.buffer.byteLength * 2));
      memory.copy(changetype<usize>(grown), this.address, this.length);
      this.buffer = grown;
    }
    const at = this.address + this.length;
    this.length += size;
    return at;
  }

  byte(value: i32): void { store<u8>(this.room(1), value); }

  // ascii writes a text of ASCII alone.
  ascii(text: string): void {
    for (let i = 0; i < text.length; i++) this.byte(text.charCodeAt(i));
  }

  // value writes a value as JSON.
  value(value: Json): void {
    switch (value.kind) {
      case Kind.Null: this.ascii("null"); break;
      case Kind.True: this.ascii("true"); break;
      case Kind.False: this.ascii("false"); break;
      case Kind.Number: this.ascii(value.text); break;
      case Kind.Text: this.quoted(value.text); break;
      default: {
        const record = value.kind == Kind.Record;
        this.byte(record ? 0x7b : 0x5b);
        for (let i = 0; i < value.items.length; i++) {
          if (i > 0) this.byte(0x2c);
          if (record) {
            this.quoted(value.names[i]);
            this.byte(0x3a);
          }
          this.value(value.items[i]);
        }
        this.byte(record ? 0x7d : 0x5d);
      }
    }
  }

  private quoted(text: string): void {
    this.byte(0x22);
    for (let i = 0; i < text.length; i++) {
      const code = text.codePointAt(i);
      if (code >= 0x10000) i++;
      if (code == 0x22 || code == 0x5c) {
        this.byte(0x5c);
        this.byte(code);
      } else if (code >= 0x08 && code <= 0x0d && code != 0x0b) {
        this.byte(0x5c);
        this.byte("btn.fr".charCodeAt(code - 0x08));
      } else if (code < 0x20) {
        this.ascii("\\u00" + code.toString(16).padStart(2, "0"));
      } else {
        this.point(code);
      }
    }
    this.byte(0x22);
  }

  // point writes a character as UTF-8; half of a pair becomes U+FFFD.
  point(code: i32): void {
    if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
    if (code < 0x80) {
      this.byte(code);
      return;
    }
    if (code < 0x800) {
      this.byte(0xc0 | code >> 6);
    } else {
      if (code < 0x10000) {
        this.byte(0xe0 | code >> 12);
      } else {
        this.byte(0xf0 | code >> 18);
        this.byte(0x80 | code >> 12 & 63);
      }
      this.byte(0x80 | code >> 6 & 63);
    }
    this.byte(0x80 | code & 63);
  }

  // toString reads what was written as UTF-8.
  toString(): string { return String.UTF8.decodeUnsafe(this.address, this.length); }
}

// Reader reads one value of the bytes from at to end.
export class Reader {
  failed: bool = false;
  constructor(private at: usize, private end: usize) {}

  // whole answers the value that all the bytes are; failed says that they are none.
  whole(): Json {
    const value = this.value();
    this.space();
    if (this.at != this.end) this.failed = true;
    return value;
  }

  private fail(): Json {
    this.failed = true;
    this.at = this.end;
    return new Json();
  }

  private peek(): i32 { return this.at < this.end ? <i32>load<u8>(this.at) : -1; }

  private take(byte: i32): bool {
    if (this.peek() != byte) return false;
    this.at++;
    return true;
  }

  private space(): void {
    for (let c = this.peek(); c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09; c = this.peek()) this.at++;
  }

  private word(word: string, kind: Kind): Json {
    for (let i = 0; i < word.length; i++) {
      if (!this.take(word.charCodeAt(i))) return this.fail();
    }
    return new Json(kind);
  }

  private value(): Json {
    this.space();
    switch (this.peek()) {
      case 0x6e: return this.word("null", Kind.Null);
      case 0x74: return this.word("true", Kind.True);
      case 0x66: return this.word("false", Kind.False);
      case 0x22: return Json.text(this.string());
      case 0x5b: return this.items(new Json(Kind.List), 0x5d);
      case 0x7b: return this.items(new Json(Kind.Record), 0x7d);
      default: return this.number();
    }
  }

  private items(into: Json, close: i32): Json {
    this.at++;
    this.space();
    if (this.take(close)) return into;
    do {
      if (into.kind == Kind.Record) {
        this.space();
        if (this.peek() != 0x22) return this.fail();
        into.names.push(this.string());
        this.space();
        if (!this.take(0x3a)) return this.fail();
      }
      into.items.push(this.value());
      this.space();
    } while (this.take(0x2c));
    return this.take(close) ? into : this.fail();
  }

  private number(): Json {
    const from = this.at;
    this.take(0x2d);
    if (!this.take(0x30) && !this.digits()) return this.fail();
    if (this.take(0x2e) && !this.digits()) return this.fail();
    if (this.take(0x65) || this.take(0x45)) {
      if (!this.take(0x2b)) this.take(0x2d);
      if (!this.digits()) return this.fail();
    }
    return Json.digits(String.UTF8.decodeUnsafe(from, this.at - from));
  }

  private digits(): bool {
    const from = this.at;
    for (let c = this.peek(); c >= 0x30 && c <= 0x39; c = this.peek()) this.at++;
    return this.at > from;
  }

  private string(): string {
    this.at++;
    const from = this.at;
    for (let c = this.peek(); c != 0x22; c = this.peek()) {
      if (c < 0x20) {
        this.fail();
        return "";
      }
      if (c == 0x5c) return this.escaped(from);
      this.at++;
    }
    const text = String.UTF8.decodeUnsafe(from, this.at - from);
    this.at++;
    return text;
  }

  // escaped reads a string on from its first escape.
  private escaped(from: usize): string {
    const out = new Writer();
    const plain = <i32>(this.at - from);
    memory.copy(out.room(plain), from, plain);
    for (let c = this.peek(); c != 0x22; c = this.peek()) {
      if (c < 0x20) {
        this.fail();
        return "";
      }
      this.at++;
      if (c != 0x5c) {
        out.byte(c);
        continue;
      }
      const letter = this.peek();
      this.at++;
      switch (letter) {
        case 0x22: case 0x5c: case 0x2f: out.byte(letter); break;
        case 0x62: out.byte(8); break;
        case 0x66: out.byte(12); break;
        case 0x6e: out.byte(10); break;
        case 0x72: out.byte(13); break;
        case 0x74: out.byte(9); break;
        case 0x75: out.point(this.unicode()); break;
        default:
          this.fail();
          return "";
      }
    }
    this.at++;
    return out.toString();
  }

  // unicode reads the digits of \u, and the second half of a pair.
  private unicode(): i32 {
    const first = this.hex();
    if (first < 0xd800 || first >= 0xdc00 || this.at + 6 > this.end || load<u16>(this.at) != 0x755c) return first;
    const before = this.at;
    this.at += 2;
    const second = this.hex();
    if (second >= 0xdc00 && second < 0xe000) return 0x10000 + (first - 0xd800 << 10 | second - 0xdc00);
    this.at = before;
    return first;
  }

  private hex(): i32 {
    let code = 0;
    for (let i = 0; i < 4; i++) {
      const c = this.peek();
      const digit = c >= 0x30 && c <= 0x39 ? c - 0x30 : (c | 0x20) >= 0x61 && (c | 0x20) <= 0x66 ? (c | 0x20) - 0x57 : -1;
      if (digit < 0) {
        this.fail();
        return 0;
      }
      code = code << 4 | digit;
      this.at++;
    }
    return code;
  }
}
