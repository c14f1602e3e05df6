package engine

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
	localImage   = "amazon/dynamodb-local:" + localVersion
	localMain    = "software.amazon.dynamodb.services.local.main.ServerRunner"
	localJar     = "DynamoDBLocal-" + localVersion + ".jar"
	copyPlugin   = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
	javaMin      = 17
)

// localPOM has no parent and no repository: Maven's own settings say where
// things come from.
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

// findLocal takes DynamoDB Local from Java and Maven, else from Docker. Its
// licence forbids to hand it on, so the user's own client always fetches it.
func findLocal(ctx context.Context, h *host, install bool) (*program, error) {
	p, err := localByMaven(ctx, h, install)
	if err == nil {
		return p, nil
	}
	p, dockerErr := localByDocker(ctx, h, install)
	if dockerErr == nil {
		return p, nil
	}
	return nil, fmt.Errorf("%w; and no Docker instead: %w", err, dockerErr)
}

func localByMaven(ctx context.Context, h *host, install bool) (*program, error) {
	java, err := findJava(ctx, h)
	if err != nil {
		return nil, err
	}
	final, err := h.cached("dynamodb-local-" + localVersion)
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
		kind: DynamoDBLocal, title: titles[DynamoDBLocal],
		argv: func(port int, dir string) []string {
			// Quick to start and small, not fast for long: it serves one
			// developer. Its SQLite is a native library beside the jars.
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
		return errNotAllowed
	}
	h.logf("installing %s with Maven, once, into %s", titles[DynamoDBLocal], final)
	return installOnce(final, filepath.Join("lib", localJar), func(dir string) error {
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
	// macOS has a java that only says that there is none, so it has to be run.
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

func localByDocker(ctx context.Context, h *host, install bool) (*program, error) {
	docker, err := h.lookPath("docker")
	if err != nil {
		return nil, errors.New("docker is not on PATH")
	}
	if _, err := run(ctx, "", docker, "version", "--format", "{{.Server.Version}}"); err != nil {
		return nil, errors.New("docker's daemon doesn't answer")
	}
	if _, err := run(ctx, "", docker, "image", "inspect", "--format", "{{.Id}}", localImage); err != nil {
		if !install {
			return nil, fmt.Errorf("the image %s is not there, and this command may not fetch it", localImage)
		}
		h.logf("fetching %s with Docker, once", localImage)
		if _, err := run(ctx, "", docker, "pull", "--quiet", localImage); err != nil {
			return nil, err
		}
	}
	return &program{
		kind: DynamoDBLocal, title: titles[DynamoDBLocal] + " in Docker",
		// Our child is docker's client: killed, it would leave the container;
		// asked to end, it asks the container.
		polite: true,
		argv: func(port int, dir string) []string {
			argv := []string{docker, "run", "--rm", "--init", "-p", fmt.Sprintf("127.0.0.1:%d:8000", port)}
			engine := []string{localImage, "-jar", "DynamoDBLocal.jar", "-sharedDb", "-disableTelemetry"}
			if dir == "" {
				return append(append(argv, engine...), "-inMemory")
			}
			if uid := os.Getuid(); uid >= 0 {
				// The files in the folder stay the user's own.
				argv = append(argv, "--user", fmt.Sprintf("%d:%d", uid, os.Getgid()))
			}
			argv = append(argv, "-v", dir+":/data")
			return append(append(argv, engine...), "-dbPath", "/data")
		},
	}, nil
}
