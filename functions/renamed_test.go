package functions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// declared returns the names that the Go files of a folder declare: Name, Type.Method and Type.field.
// Names of an external test package begin with "_test ".
func declared(t *testing.T, folder string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		prefix := ""
		if strings.HasSuffix(f.Name.Name, "_test") {
			prefix = "_test "
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = receiver(d.Recv.List[0].Type) + "." + name
				}
				names[prefix+name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names[prefix+n.Name] = true
						}
					case *ast.TypeSpec:
						names[prefix+s.Name.Name] = true
						var fields *ast.FieldList
						switch typ := s.Type.(type) {
						case *ast.StructType:
							fields = typ.Fields
						case *ast.InterfaceType:
							fields = typ.Methods
						}
						if fields == nil {
							continue
						}
						for _, field := range fields.List {
							for _, n := range field.Names {
								names[prefix+s.Name.Name+"."+n.Name] = true
							}
						}
					}
				}
			}
		}
	}
	return names
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// Ensure that no name of renamed.tsv is left, except where a row gives the old name to something
// other, or has a fourth column with the reason.
func TestRenamed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../renamed.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	folders, renamed, given := map[string]string{}, map[string]string{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if row[0] == "package" || len(row) != 3 {
			continue // the header, or an exception
		}
		rows = append(rows, row)
		if row[1] == "package" {
			folders[row[0]] = path.Join(path.Dir(row[0]), row[2])
		}
		base := strings.TrimSuffix(row[0], "_test")
		renamed[base+" "+row[1]] = row[2]
	}
	typeOf := func(folder, name string) string {
		if new, ok := renamed[folder+" "+name]; ok {
			return new
		}
		return name
	}
	for _, row := range rows {
		base := strings.TrimSuffix(row[0], "_test")
		if typ, _, ok := strings.Cut(row[1], "."); ok {
			given[base+" "+typeOf(base, typ)+"."+row[2]] = true
		} else {
			given[base+" "+row[2]] = true
		}
	}
	cache := map[string]map[string]bool{}
	for _, row := range rows {
		base, external := strings.CutSuffix(row[0], "_test")
		folder := base
		if to, ok := folders[base]; ok {
			folder = to
		}
		old := row[1]
		switch {
		case old == "package":
			if files, _ := filepath.Glob(filepath.Join("..", base, "*.go")); len(files) > 0 {
				t.Errorf("%s is %s", base, row[2])
			}
			continue
		case strings.HasSuffix(old, ".go"):
			if _, err := os.Stat(filepath.Join("..", folder, old)); err == nil && !given[base+" "+old] {
				t.Errorf("%s/%s is %s", folder, old, row[2])
			}
			continue
		case strings.Contains(old, ":"):
			continue // a local variable
		}
		if typ, name, ok := strings.Cut(old, "."); ok {
			old = typeOf(base, typ) + "." + name
		}
		if given[base+" "+old] {
			continue
		}
		if cache[folder] == nil {
			cache[folder] = declared(t, folder)
		}
		names := cache[folder]
		if (!external && names[old]) || names["_test "+old] && (external || !names[row[2]]) {
			t.Errorf("%s: %s is %s", folder, old, row[2])
		}
	}
}
