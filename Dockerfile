# The gateway in a container, with Node for servers that npx starts:
#
#	docker build --build-arg VERSION=v0.1.0 -t mcpbelt .
#	docker run -p 127.0.0.1:7411:7411 -v "$PWD/mcp.json:/home/node/.config/mcpbelt/mcp.json:ro" mcpbelt
#
# It prints the key that clients send. .ci/package makes an image without Node, with no
# Docker and no registry.
FROM golang:1.26 AS build
ARG VERSION=latest
RUN CGO_ENABLED=0 go install -trimpath -ldflags="-s -w" github.com/mcpbelt/mcpbelt/cmd/mcpbelt@${VERSION}

FROM node:22-slim
COPY --from=build /go/bin/mcpbelt /usr/local/bin/mcpbelt
# The slim image has no roots of certificates.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
USER node
WORKDIR /home/node
EXPOSE 7411
ENTRYPOINT ["mcpbelt"]
CMD ["serve", "--listen", "0.0.0.0:7411", "--public"]
