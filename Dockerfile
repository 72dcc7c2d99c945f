# The command line, and nothing else: the archive of `cargo xtask package cli`, or of a release's page, has the binary.
#
#   cargo xtask package cli
#   docker build --build-context cli=$(echo target/packages/cli/incumbent-*-linux-musl) --tag incumbent .
#
# Nothing in this folder is sent to the builder: see .dockerignore. For TLS, mount the certificates of the machine:
#   docker run --volume /etc/ssl/certs:/etc/ssl/certs:ro incumbent status --store tls://nats.example.com/ELECTIONS --all
FROM scratch
COPY --from=cli incumbent /incumbent
COPY --from=cli LICENSE-APACHE LICENSE-MIT THIRD-PARTY-NOTICES /licences/
# In memory: the image has no folder for temporary files.
ENV TMPDIR=/dev/shm
# A number, because the image has no names of users.
USER 65534:65534
ENTRYPOINT ["/incumbent"]
