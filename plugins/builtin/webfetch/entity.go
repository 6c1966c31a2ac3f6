package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// entities are the names of characters that pages use. Others stay as they are.
var entities = map[string]rune{
	"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": ' ', "ensp": ' ', "emsp": ' ', "thinsp": ' ', "shy": 0xAD, "zwnj": 0x200C, "zwj": 0x200D,
	"copy": '©', "reg": '®', "trade": '™', "deg": '°', "plusmn": '±', "micro": 'µ', "para": '¶', "sect": '§', "middot": '·', "bull": '•',
	"hellip": '…', "ndash": '–', "mdash": '—', "lsquo": '‘', "rsquo": '’', "sbquo": '‚', "ldquo": '“', "rdquo": '”', "bdquo": '„',
	"laquo": '«', "raquo": '»', "lsaquo": '‹', "rsaquo": '›', "dagger": '†', "Dagger": '‡', "permil": '‰', "prime": '′', "Prime": '″',
	"euro": '€', "pound": '£', "yen": '¥', "cent": '¢', "curren": '¤', "times": '×', "divide": '÷', "minus": '−', "frac12": '½', "frac14": '¼', "frac34": '¾',
	"sup1": '¹', "sup2": '²', "sup3": '³', "iexcl": '¡', "iquest": '¿', "brvbar": '¦', "not": '¬', "ordf": 'ª', "ordm": 'º', "macr": '¯', "acute": '´', "cedil": '¸', "uml": '¨',
	"larr": '←', "uarr": '↑', "rarr": '→', "darr": '↓', "harr": '↔', "lArr": '⇐', "rArr": '⇒', "hArr": '⇔', "le": '≤', "ge": '≥', "ne": '≠', "equiv": '≡', "asymp": '≈',
	"infin": '∞', "sum": '∑', "prod": '∏', "radic": '√', "int": '∫', "part": '∂', "forall": '∀', "exist": '∃', "empty": '∅', "isin": '∈', "notin": '∉', "cap": '∩', "cup": '∪', "sub": '⊂', "sup": '⊃', "and": '∧', "or": '∨',
	"alpha": 'α', "beta": 'β', "gamma": 'γ', "delta": 'δ', "epsilon": 'ε', "theta": 'θ', "lambda": 'λ', "mu": 'μ', "pi": 'π', "sigma": 'σ', "tau": 'τ', "phi": 'φ', "omega": 'ω', "Delta": 'Δ', "Sigma": 'Σ', "Omega": 'Ω',
	"Agrave": 'À', "Aacute": 'Á', "Acirc": 'Â', "Atilde": 'Ã', "Auml": 'Ä', "Aring": 'Å', "AElig": 'Æ', "Ccedil": 'Ç', "Egrave": 'È', "Eacute": 'É', "Ecirc": 'Ê', "Euml": 'Ë',
	"Iacute": 'Í', "Icirc": 'Î', "Iuml": 'Ï', "Ntilde": 'Ñ', "Oacute": 'Ó', "Ocirc": 'Ô', "Otilde": 'Õ', "Ouml": 'Ö', "Oslash": 'Ø', "Uacute": 'Ú', "Ucirc": 'Û', "Uuml": 'Ü',
	"agrave": 'à', "aacute": 'á', "acirc": 'â', "atilde": 'ã', "auml": 'ä', "aring": 'å', "aelig": 'æ', "ccedil": 'ç', "egrave": 'è', "eacute": 'é', "ecirc": 'ê', "euml": 'ë',
	"igrave": 'ì', "iacute": 'í', "icirc": 'î', "iuml": 'ï', "ntilde": 'ñ', "ograve": 'ò', "oacute": 'ó', "ocirc": 'ô', "otilde": 'õ', "ouml": 'ö', "oslash": 'ø', "ugrave": 'ù', "uacute": 'ú', "ucirc": 'û', "uuml": 'ü', "yacute": 'ý', "yuml": 'ÿ', "szlig": 'ß',
	"OElig": 'Œ', "oelig": 'œ', "Scaron": 'Š', "scaron": 'š', "check": '✓', "cross": '✗', "star": '☆', "lbrace": '{', "rbrace": '}', "lbrack": '[', "rbrack": ']', "lpar": '(', "rpar": ')', "num": '#', "ast": '*', "lowbar": '_', "grave": '`', "vert": '|', "bsol": '\\', "sol": '/', "colon": ':', "comma": ',', "period": '.', "semi": ';', "equals": '=', "plus": '+', "excl": '!', "quest": '?', "commat": '@', "dollar": '$', "percnt": '%', "Tab": '\t', "NewLine": '\n',
}

// longestEntity is what is looked at behind an ampersand.
const longestEntity = 12

// unescape puts characters in the place of their names and numbers.
func unescape(text string) string {
	at := strings.IndexByte(text, '&')
	if at < 0 {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	for at >= 0 {
		out.WriteString(text[:at])
		text = text[at:]
		character, length := entity(text)
		if length == 0 {
			character, length = '&', 1
		}
		out.WriteRune(character)
		text = text[length:]
		at = strings.IndexByte(text, '&')
	}
	out.WriteString(text)
	return out.String()
}

// entity reads the one that text begins with. Its length is 0 when it is none.
func entity(text string) (character rune, length int) {
	end := strings.IndexByte(text[:min(len(text), longestEntity)], ';')
	if end < 2 {
		return 0, 0
	}
	name := text[1:end]
	if name[0] != '#' {
		character, ok := entities[name]
		if !ok {
			return 0, 0
		}
		return character, end + 1
	}
	digits, base := name[1:], 10
	if digits != "" && digits[0]|0x20 == 'x' {
		digits, base = digits[1:], 16
	}
	number, err := strconv.ParseUint(digits, base, 32)
	switch {
	case err != nil:
		return 0, 0
	case number >= 0x80 && number < 0xA0:
		return windows1252[number-0x80], end + 1
	case number == 0 || number > utf8.MaxRune || !utf8.ValidRune(rune(number)):
		return utf8.RuneError, end + 1
	}
	return rune(number), end + 1
}
