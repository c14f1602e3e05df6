package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// An image consists of a folder of blobs named by their digests, and three JSON files that refer to
// the blobs (https://github.com/opencontainers/image-spec). The libraries that write images also
// include a client for registries. ko and crane build on base images from a registry. So this file
// defines the few structures itself. scripts/check/external/release reads the result with crane.

// imageUser is the id of the user that the program in the image runs as. This user owns the image's
// volume.
const imageUser = 65532

// descriptor refers to a blob of an image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// image returns an image that contains only the two programs and what they need. It is an OCI
// layout in a tar file, with an additional manifest for older versions of `docker load`.
func (r *release) image(platform string, program, dynoxide, notices []byte) ([]byte, error) {
	os, arch, _ := strings.Cut(platform, "/")
	layer, err := r.layer(program, dynoxide, notices)
	if err != nil {
		return nil, err
	}
	packed, err := gzipBytes(layer)
	if err != nil {
		return nil, err
	}
	name := "growth-workspace:" + r.version
	labels := map[string]string{
		"org.opencontainers.image.title": "growth-workspace", "org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	config, err := json.Marshal(map[string]any{
		"architecture": arch, "os": os, "created": r.time.Format(time.RFC3339),
		"config": map[string]any{
			"User": fmt.Sprintf("%d:%d", imageUser, imageUser),
			"Env": []string{
				"PATH=/", "HOME=/data", "XDG_DATA_HOME=/data", "XDG_CONFIG_HOME=/data/config", "XDG_CACHE_HOME=/data/cache", "TMPDIR=/data/tmp",
			},
			"Entrypoint": []string{"/workspace"}, "Cmd": []string{"serve", "--addr", "0.0.0.0:8080", "--demo=false"},
			"WorkingDir": "/data", "Volumes": map[string]any{"/data": struct{}{}}, "ExposedPorts": map[string]any{"8080/tcp": struct{}{}}, "Labels": labels,
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
		"history": []map[string]string{{"created": r.time.Format(time.RFC3339), "created_by": "scripts/release"}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": descriptor{MediaType: "application/vnd.oci.image.config.v1+json", Digest: digest(config), Size: len(config)},
		"layers": []descriptor{{MediaType: "application/vnd.oci.image.layer.v1.tar+gzip", Digest: digest(packed), Size: len(packed)}},
	})
	if err != nil {
		return nil, err
	}
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"manifests": []descriptor{{
			MediaType: "application/vnd.oci.image.manifest.v1+json", Digest: digest(manifest), Size: len(manifest),
			Platform:    map[string]string{"os": os, "architecture": arch},
			Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "docker.io/library/" + name},
		}},
	})
	if err != nil {
		return nil, err
	}
	docker, err := json.Marshal([]map[string]any{{"Config": blobPath(config), "RepoTags": []string{name}, "Layers": []string{blobPath(packed)}}})
	if err != nil {
		return nil, err
	}
	files := []entry{
		{name: "oci-layout", text: []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {name: "index.json", text: index}, {name: "manifest.json", text: docker},
		{name: blobPath(config), text: config}, {name: blobPath(manifest), text: manifest}, {name: blobPath(packed), text: packed},
	}
	return tarOf(files, r.time)
}

func digest(blob []byte) string {
	sum := sha256.Sum256(blob)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blobPath(blob []byte) string {
	return "blobs/sha256/" + strings.TrimPrefix(digest(blob), "sha256:")
}

// layer returns the file system of the image as a tar file. It has no time zone database, because
// the program contains one.
func (r *release) layer(program, dynoxide, notices []byte) ([]byte, error) {
	return tarOf([]entry{
		{name: "data/", mode: 0o700, user: imageUser},
		{name: "dynoxide", text: dynoxide, mode: 0o755},
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", text: rootCertificates()},
		{name: "licences/", mode: 0o755},
		{name: "licences/THIRD-PARTY.txt", text: notices},
		{name: "licences/dynoxide-LICENSE.txt", text: engineLicence},
		{name: "workspace", text: program, mode: 0o755},
	}, r.time)
}

// rootCertificates returns the certificates that browsers trust, in the PEM format. It leaves out
// certificates that browsers trust only under certain conditions, because a PEM file cannot express
// the conditions.
func rootCertificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a write to a bytes.Buffer never fails
		}
	}
	return out.Bytes()
}
