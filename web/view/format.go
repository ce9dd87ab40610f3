// Package view turns the answers of calc into what the reader sees: texts of
// figures in both languages, the tank, the tables, and the state of the page
// with its permalink. It is pure: the generator writes the first page with it
// and the wasm every later one, so waking the page changes nothing.
package view

import (
	"math"
	"strconv"
	"strings"

	"vrametre/content"
)

// Spaces of the two typographies.
const (
	narrowNoBreakSpace = "\u202f" // between French digit groups, and before a French unit
	noBreakSpace       = "\u00a0" // before an English unit
	minus              = "\u2212"
)

// Count writes an integer with the language's digit grouping: 538 981 or 538,981.
func Count(lang content.Lang, n int64) string {
	if n < 0 {
		return minus + Count(lang, -n)
	}
	separator := ","
	if lang == content.French {
		separator = narrowNoBreakSpace
	}
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(separator)
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Bytes writes a size in powers of ten with three significant digits: 8,62 Mo.
// Megabytes are kept up to 9 999, so that a batch's total stays comparable with its parts.
func Bytes(lang content.Lang, n int64) string {
	if n < 0 {
		return minus + Bytes(lang, -n)
	}
	switch {
	case n < 1000:
		return withUnit(lang, Count(lang, n), "unit.byte")
	case n < 999_500:
		return withUnit(lang, threeDigits(lang, n, 1_000), "unit.kB")
	case n < 9_999_500_000:
		return withUnit(lang, threeDigits(lang, n, 1_000_000), "unit.MB")
	case n < 9_999_500_000_000:
		return Gigabytes(lang, n)
	}
	return withUnit(lang, threeDigits(lang, n, 1_000_000_000_000), "unit.TB")
}

// Gigabytes writes a card's memory, which the reader knows by that unit: 4,09 Go.
func Gigabytes(lang content.Lang, n int64) string {
	if n < 0 {
		return minus + Gigabytes(lang, -n)
	}
	return withUnit(lang, threeDigits(lang, n, 1_000_000_000), "unit.GB")
}

// Binary writes a size in powers of two, the unit of PyTorch's messages and of nvidia-smi: 8,22 Mio.
func Binary(lang content.Lang, n int64) string {
	if n < 0 {
		return minus + Binary(lang, -n)
	}
	if n < 1<<10 {
		return withUnit(lang, Count(lang, n), "unit.byte")
	}
	units := []string{"unit.KiB", "unit.MiB", "unit.GiB", "unit.TiB"}
	for i, unit := range units {
		scale := int64(1) << (10 * (i + 1))
		// Below half a unit under 1024 the rounded number still is less than 1024.
		if i == len(units)-1 || n < 1024*scale-scale/2 {
			return withUnit(lang, threeDigits(lang, n, scale), unit)
		}
	}
	panic("unreachable")
}

// Exact writes a size to the byte: 8 623 696 octets.
func Exact(lang content.Lang, n int64) string {
	return Text(lang, "unit.bytes", Args{"n": n})
}

// Percent writes part of whole as an integer percentage, or with one decimal below 10 %.
func Percent(lang content.Lang, part, whole int64) string {
	if whole <= 0 {
		return Text(lang, "unit.percent", Args{"value": "0"})
	}
	tenths := mulDivRound(part, 1000, whole)
	value := Count(lang, mulDivRound(part, 100, whole))
	if tenths > 0 && tenths < 100 {
		value = fixed(lang, tenths, 1)
	}
	return Text(lang, "unit.percent", Args{"value": value})
}

// Ratio writes how many times b goes in a, with one decimal: 1,7.
func Ratio(lang content.Lang, a, b int64) string {
	if b <= 0 {
		return Count(lang, 0)
	}
	return fixed(lang, mulDivRound(a, 10, b), 1)
}

// Shape writes a tensor's shape: 32 × 128 × 128.
func Shape(shape []int64) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(parts, narrowNoBreakSpace+"×"+narrowNoBreakSpace)
}

// threeDigits writes n/scale with three significant digits, or all digits of
// the integer part where it has more.
func threeDigits(lang content.Lang, n, scale int64) string {
	if hundredths := mulDivRound(n, 100, scale); hundredths < 1000 {
		return fixed(lang, hundredths, 2)
	}
	if tenths := mulDivRound(n, 10, scale); tenths < 1000 {
		return fixed(lang, tenths, 1)
	}
	return Count(lang, divRound(n, scale))
}

// fixed writes n/10^decimals.
func fixed(lang content.Lang, n int64, decimals int) string {
	scale := int64(1)
	for range decimals {
		scale *= 10
	}
	point := "."
	if lang == content.French {
		point = ","
	}
	fraction := strconv.FormatInt(n%scale+scale, 10)[1:]
	return Count(lang, n/scale) + point + fraction
}

// decimal writes a number that may have a fraction: 0,9.
func decimal(lang content.Lang, f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return Count(lang, int64(f))
	}
	text := strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "-", minus, 1)
	if lang == content.French {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text
}

// divRound divides, rounding half up.
func divRound(n, d int64) int64 { return n/d + (n%d+d/2)/d }

// mulDivRound is n*m/d rounded half up, without overflow for any n below 2^62.
func mulDivRound(n, m, d int64) int64 {
	whole, rest := n/d, n%d
	return whole*m + divRound(rest*m, d)
}

func withUnit(lang content.Lang, number, unit string) string {
	space := noBreakSpace
	if lang == content.French {
		space = narrowNoBreakSpace
	}
	return number + space + Text(lang, unit, nil)
}
