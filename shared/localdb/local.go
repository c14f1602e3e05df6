package localdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

const (
	localVersion = "3.1.0"
	localMain    = "software.amazon.dynamodb.services.local.main.ServerRunner"
	localJar     = "DynamoDBLocal-" + localVersion + ".jar"
	copyPlugin   = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
	javaMin      = 17
)

// localPOM has no parent and no repository, because the user's Maven settings define the
// repositories.
const localPOM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>growthworkspace</groupId>
  <artifactId>dynamodb-local</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>software.amazon.dynamodb</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>` + localVersion + `</version>
    </dependency>
  </dependencies>
</project>
`

// findLocal returns DynamoDB Local, which it may install in the cache with Maven. Its licence
// forbids redistribution, so the user's own Maven fetches it.
func findLocal(ctx context.Context, h *host, install bool) (*program, error) {
	java, err := findJava(ctx, h)
	if err != nil {
		return nil, err
	}
	final, err := h.cachePath("dynamodb-local-" + localVersion)
	if err != nil {
		return nil, err
	}
	if !exists(filepath.Join(final, "lib", localJar)) {
		if err := mavenInstall(ctx, h, final, install); err != nil {
			return nil, err
		}
	}
	lib := filepath.Join(final, "lib")
	return &program{
		kind: DynamoDBLocal, title: engineTitles[DynamoDBLocal],
		argv: func(_ string, port int, dir string) []string {
			// DynamoDB Local listens on every address. The options favour a quick start over
			// throughput, for the benefit of a single developer. SQLite is a native library next to
			// the jars.
			argv := []string{java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
				"-Djava.library.path=" + lib, "-cp", filepath.Join(lib, "*"), localMain,
				"-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port)}
			if dir == "" {
				return append(argv, "-inMemory")
			}
			return append(argv, "-dbPath", dir)
		},
	}, nil
}

func mavenInstall(ctx context.Context, h *host, final string, install bool) error {
	mvn, err := h.lookPath("mvn")
	if err != nil {
		return errors.New("mvn is not on PATH: install Maven 3.8 or later")
	}
	if !install {
		return errInstallNotAllowed
	}
	h.logf("installing %s with Maven, once, into %s", engineTitles[DynamoDBLocal], final)
	return installOnce(ctx, final, filepath.Join("lib", localJar), func(dir string) error {
		pom := filepath.Join(dir, "pom.xml")
		if err := os.WriteFile(pom, []byte(localPOM), 0o644); err != nil {
			return fmt.Errorf("write Maven's project: %w", err)
		}
		_, err := run(ctx, dir, mvn, "-B", "-q", "-f", pom, copyPlugin,
			"-DoutputDirectory="+filepath.Join(dir, "lib"), "-DincludeScope=runtime")
		return err
	})
}

var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

func findJava(ctx context.Context, h *host) (string, error) {
	java, err := h.lookPath("java")
	if err != nil {
		return "", fmt.Errorf("java is not on PATH: install Java %d or later, and Maven", javaMin)
	}
	// The java command of macOS may only print that Java is missing, so it must be run to find out.
	out, err := run(ctx, "", java, "-version")
	if err != nil {
		return "", fmt.Errorf("java does not run: install Java %d or later: %w", javaMin, err)
	}
	m := javaVersion.FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("java -version tells no version: install Java %d or later", javaMin)
	}
	if n, _ := strconv.Atoi(m[1]); n < javaMin {
		return "", fmt.Errorf("java is version %d: install Java %d or later", n, javaMin)
	}
	return java, nil
}
