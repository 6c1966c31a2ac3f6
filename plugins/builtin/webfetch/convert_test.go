package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestMarkdown(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"empty", "", ""},
		{"words", "a  b\n\tc", "a b c"},
		{"title", "<title>A &amp; B</title><p>x", "# A & B\n\nx"},
		{"the title is the heading", "<title>T</title><h1>T</h1>x", "# T\n\nx"},
		{"title of a drawing", "<svg><title>no</title></svg>x", "x"},
		{"headings", "<h1>One</h1><h2> Two </h2>text<h6>Six</h6><h3></h3>end", "# One\n\n## Two\n\ntext\n\n###### Six\n\nend"},
		{"paragraphs", "<p>one<p>two</p>three<div>four</div>five<br>six", "one\n\ntwo\n\nthree\nfour\nfive\nsix"},
		{"emphasis", "a <b>bold</b>, <i> it </i>x <em></em><del>gone</del>", "a **bold**, *it* x ~~gone~~"},
		{"crossed", "<b>one <i>two</b> three</i>", "**one *two*** three"},
		{"bold that is not closed", "<p><b>one<p>two", "**one**\n\ntwo"},
		{"links", `<a href="/x?a=1&amp;b=2">in</a> <a href="https://o.example/(a b)">out</a> <a href="#top">top</a> <a href="javascript:x()">js</a> <a>none</a>`,
			"[in](https://e.example/x?a=1&b=2) [out](https://o.example/%28a%20b%29) top js none"},
		{"empty link", `a<a href="/x"></a>b`, "ab"},
		{"heading in a link", `<a href="/x"><div><h3>News</h3><p>of today</p></div></a><p>next`, "[News of today](https://e.example/x)\n\nnext"},
		{"link in a heading", `<h2><a href="x">Part</a></h2>`, "## [Part](https://e.example/dir/x)"},
		{"link that is not closed", `<ul><li><a href="/1">one<li><a href="/2">two</ul>end`, "- [one](https://e.example/1)\n- [two](https://e.example/2)\n\nend"},
		{"base", `<base href="https://b.example/q/"><a href="r">x</a>`, "[x](https://b.example/q/r)"},
		{"list", "<ul><li>one<li>two<ul><li>in</ul></li><li>three</ul>", "- one\n- two\n  - in\n- three"},
		{"numbers", `<ol start="3"><li>a</li><li><p>b</p><p>c</p></li></ol><ol start="-1"><li>d</ol>`, "3. a\n4. b\n\n   c\n\n1. d"},
		{"heading in an item", "<ul><li><h3>H</h3>t</li></ul>", "- ### H\n\n  t"},
		{"quotation", "<blockquote><p>one<p>two</blockquote>out", "> one\n>\n> two\n\nout"},
		{"list in a quotation", "<blockquote><ul><li>a</blockquote>out", "> - a\n\nout"},
		{"code", "use <code>go  build</code>, <code>a`b</code> and <code>`</code><code> </code>", "use `go build`, ``a`b`` and `` ` ``"},
		{"code that is not closed", "<p><code>a<p>b", "`a`\n\nb"},
		{"preformatted", "x<pre><code class=\"hl language-go\">\nfunc f() {\n\n\treturn <b>1</b> &lt; 2\n}\n</code></pre>y", "x\n\n```go\nfunc f() {\n\n\treturn 1 < 2\n}\n```\n\ny"},
		{"fence in code", "<pre>```\na\n```</pre>", "````\n```\na\n```\n````"},
		{"preformatted that is not closed", "<pre>a\n b", "```\na\n b\n```"},
		{"table", "<table><tr><th>a<th>b</tr><tr><td>1|2</td><td><b>x</b> <a href=/y>y</a></td></tr><tr></tr></table>z",
			"| a | b |\n|---|---|\n| 1\\|2 | **x** [y](https://e.example/y) |\n\nz"},
		{"table that is not closed", "<table><tr><td>a<td>b", "| a | b |\n|---|---|"},
		{"one column", "<table><tr><td>a<tr><td>b</table>", "a\n\nb"},
		{"layout", "<table><tr><td>menu<td><h1>Head</h1><p>text</p><table><tr><td>x<td>y</table></table>end",
			"menu\n\n# Head\n\ntext\n\n| x | y |\n|---|---|\n\nend"},
		{"image", `<img src="a.png" alt="a cat"><img src=b.png><a href=/c><img alt=logo src=l.png></a><img alt=d src="data:image/png;base64,AAAA">`,
			"![a cat](https://e.example/dir/a.png)[[logo]](https://e.example/c)[d]"},
		{"what says nothing", "<script>if (a</b>) '<p>'</script><style>p{}</style><nav>menu<nav>x</nav></nav><footer>f</footer><button>b</button>text<svg><p>s</p></svg><noscript>n</noscript>", "text"},
		{"a menu that is not closed", "<nav>menu<p>text", "menu\n\ntext"},
		{"comments", "a<!-- <p> -->b<!x>c<?php d ?>e<!-- to the end <p>x", "abce"},
		{"a bare mark", "1 < 2 <3 & &amp; &nosuch; &#65;&#x42;&#150;&#0;&notanentityatall;", "1 < 2 <3 & & &nosuch; AB–\ufffd&notanentityatall;"},
		{"attributes", `<a title="a > b" class='x"' href=/q/>l</a><a HREF = "/up">m</a>`, "[l](https://e.example/q/)[m](https://e.example/up)"},
		{"a tag that does not end", "text<a href=\"x", "text"},
		{"main", "<header>site</header><main><h1>M</h1><p>" + strings.Repeat("long ", 60) + "</p></main><aside>ads</aside>", "# M\n\n" + strings.TrimSpace(strings.Repeat("long ", 60))},
		{"little main", "<header>site</header><main>m</main>after", "site\n\nm\n\nafter"},
		{"rule", "a<hr>b", "a\n\n---\n\nb"},
	} {
		got, _, cut := convert(test.page, "https://e.example/dir/page", false)
		if got != test.want || cut {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

func TestPlainText(t *testing.T) {
	page := `<title>T</title><h1>H</h1><p><b>bold</b> <a href="/x">link</a> <code>c</code></p><ul><li>one</ul><blockquote>q</blockquote><pre>a
  b</pre><table><tr><td>1<td>2</table><img alt=pic src=p>`
	want := "T\n\nH\n\nbold link c\n\n- one\n\nq\n\na\n  b\n\n1 | 2\n\n[pic]"
	if got, title, _ := convert(page, "https://e.example/", true); got != want || title != "T" {
		t.Errorf("got %q, %q\nwant %q", got, title, want)
	}
}

// However a page is made, what comes of it is bounded, and so is the time.
func TestHostilePages(t *testing.T) {
	const size = 256 << 10
	for _, piece := range []string{
		"<", "<a ", "<a '", `<a "`, `<a x="`, "</", "</a", "<!--", "<!", "&", "&#", "&amp", "<b>", "<b>x", "<a href=x>", "<a href=x>y", "<ul><li>", "<ul><li>x", "<blockquote>x", "<table>", "<table><tr><td>", "<table><tr><td>x",
		"<pre>", "<pre>`", "<code>`", "<nav>", "<script>", "<script></", "<title>", "<main>", "<td>", "<tr>", "<td>|", "<h1>", "</b>", "</a>", "</blockquote>", "</table>", "</li>", "<b><i>", "<b></i>", "<svg/>", "<base href=/>", "<p>x", "<br>", "\n", "x",
		"<a href=x><p>", "<a href=x></p>", "<i><b>x</i>",
	} {
		page := strings.Repeat(piece, size/len(piece))
		begun := time.Now()
		for _, plain := range []bool{false, true} {
			if got, _, _ := convert(page, "https://e.example/", plain); len(got) > 3*maxText {
				t.Errorf("%d times %q: %d bytes", size/len(piece), piece, len(got))
			}
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("%q took %v", piece, took)
		}
	}
}

func FuzzConvert(f *testing.F) {
	for _, seed := range []string{"<table><tr><td><a href=x><pre>`", "<ul><li><h1>x<blockquote>", "<b><i>x</b>y</i>&#x80;<code>`</code>", "<main><nav><title>t</main>", "<a href='<p>'><td></a><img alt=x src=y>"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, page string, plain bool) {
		got, title, _ := convert(page, "https://e.example/dir/", plain)
		if utf8.ValidString(page) && (!utf8.ValidString(got) || !utf8.ValidString(title)) {
			t.Errorf("%q is no UTF-8 of %q", got, page)
		}
		if len(got) > 200+100*len(page) {
			t.Errorf("%d bytes of %d", len(got), len(page))
		}
	})
}
