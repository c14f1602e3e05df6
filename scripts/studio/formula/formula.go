// Package formula evaluates the formulas of derived metrics, which apply + - * / to metric keys and
// numbers and may contain parentheses. The package knows nothing about the API.
package formula

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Formula is a parsed formula.
type Formula struct {
	keys []string
	root node
}

// node computes the value of a part of a formula. valueOf returns the value of a metric. The node
// returns false if a metric has no value, or if the result is not a finite number, for example
// after a division by zero.
type node func(valueOf func(key string) (float64, bool)) (float64, bool)

// tokenPattern matches the next token and any spaces before it. A token is a number, a metric key
// or a sign such as "+" or "(".
var tokenPattern = regexp.MustCompile(`^\s*(?:(\d+(?:\.\d+)?)|([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)|([-+*/()]))`)

// depthMax is the maximum nesting depth of parentheses.
const depthMax = 50

var errTooDeep = fmt.Errorf("parentheses are nested more than %d deep", depthMax)

// Parse parses the text of a formula. Its error says what is wrong with the text.
func Parse(text string) (*Formula, error) {
	p := &parser{rest: text, formula: &Formula{}}
	p.next()
	root, err := p.sum(0)
	if err != nil {
		return nil, err
	}
	if p.kind != end {
		return nil, p.unexpected()
	}
	p.formula.root = root
	return p.formula, nil
}

// Keys returns the keys of the metrics that the formula uses. Each key is listed once, in the order
// of first use.
func (f *Formula) Keys() []string { return f.keys }

// Value computes the value of the formula. valueOf returns the value of a metric. Value returns
// false if a metric has no value, or after a division by zero.
func (f *Formula) Value(valueOf func(key string) (float64, bool)) (float64, bool) {
	return f.root(valueOf)
}

// kind is the kind of a token.
type kind int

const (
	end kind = iota
	number
	key
	sign
	unknown
)

// parser parses a formula. Its kind and text describe the next token, which is not parsed yet.
type parser struct {
	rest    string
	kind    kind
	text    string // the token's text
	formula *Formula
}

func (p *parser) next() {
	m := tokenPattern.FindStringSubmatch(p.rest)
	switch {
	case strings.TrimSpace(p.rest) == "":
		p.kind, p.text, p.rest = end, "", ""
		return
	case m == nil:
		p.kind, p.text = unknown, strings.TrimSpace(p.rest)
		return
	case m[1] != "":
		p.kind, p.text = number, m[1]
	case m[2] != "":
		p.kind, p.text = key, m[2]
	default:
		p.kind, p.text = sign, m[3]
	}
	p.rest = p.rest[len(m[0]):]
}

func (p *parser) isSign(signs string) bool { return p.kind == sign && strings.Contains(signs, p.text) }

func (p *parser) unexpected() error {
	if p.kind == end {
		return errors.New("the formula ends too early")
	}
	return fmt.Errorf("%.40q is not expected there", p.text)
}

// sum parses terms joined by + and -.
func (p *parser) sum(depth int) (node, error) {
	return p.chain("+-", func() (node, error) { return p.product(depth) })
}

// product parses factors joined by * and /.
func (p *parser) product(depth int) (node, error) {
	return p.chain("*/", func() (node, error) { return p.factor(depth) })
}

// chain parses operands separated by any of the signs, and combines them from left to right.
func (p *parser) chain(signs string, operand func() (node, error)) (node, error) {
	left, err := operand()
	for err == nil && p.isSign(signs) {
		operator := p.text
		p.next()
		var right node
		if right, err = operand(); err == nil {
			left = combine(operator, left, right)
		}
	}
	return left, err
}

func combine(operator string, left, right node) node {
	return func(valueOf func(string) (float64, bool)) (float64, bool) {
		a, hasLeft := left(valueOf)
		b, hasRight := right(valueOf)
		if !hasLeft || !hasRight {
			return 0, false
		}
		switch operator {
		case "+":
			a += b
		case "-":
			a -= b
		case "*":
			a *= b
		case "/":
			a /= b
		}
		return a, !math.IsNaN(a) && !math.IsInf(a, 0)
	}
}

// factor parses a number, a metric key, a group in parentheses, or one of these after a minus sign.
func (p *parser) factor(depth int) (node, error) {
	if depth > depthMax {
		return nil, errTooDeep
	}
	text := p.text
	switch {
	case p.kind == number:
		p.next()
		v, err := strconv.ParseFloat(text, 64)
		return func(func(string) (float64, bool)) (float64, bool) { return v, true }, err
	case p.kind == key:
		p.next()
		if !slices.Contains(p.formula.keys, text) {
			p.formula.keys = append(p.formula.keys, text)
		}
		return func(valueOf func(string) (float64, bool)) (float64, bool) { return valueOf(text) }, nil
	case p.isSign("-"):
		p.next()
		operand, err := p.factor(depth + 1)
		return func(valueOf func(string) (float64, bool)) (float64, bool) {
			v, ok := operand(valueOf)
			return -v, ok
		}, err
	case p.isSign("("):
		p.next()
		group, err := p.sum(depth + 1)
		switch {
		case err != nil:
			return nil, err
		case !p.isSign(")"):
			return nil, errors.New("a parenthesis is not closed")
		}
		p.next()
		return group, nil
	}
	return nil, p.unexpected()
}
