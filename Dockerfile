# One image for every process: the command picks the app, for example `apps/receiver/src/main.ts`.
# Node runs the TypeScript sources as they are; there is no build.
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
ENV CI=true
# The manifests alone decide this layer: a change of the sources installs nothing again. A member that
# is not listed here is not in the image.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY packages/shared/package.json packages/shared/
COPY apps/cli/package.json apps/cli/
COPY apps/console/package.json apps/console/
COPY apps/receiver/package.json apps/receiver/
COPY apps/sandbox/package.json apps/sandbox/
COPY apps/worker/package.json apps/worker/
RUN npx -y pnpm@12.4.2 install --prod --frozen-lockfile

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
# Owned by root: the processes cannot change what they run, and need no writable file system.
COPY --from=dependencies /app /app
COPY . .
USER node
# node is PID 1, so that SIGTERM reaches the app.
ENTRYPOINT ["node"]
CMD ["apps/receiver/src/main.ts"]
