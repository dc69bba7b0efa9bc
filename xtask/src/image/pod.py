"""Plays the pod of a YAML file with podman, a container after the other.

    pod.py sidecar.yaml FILE-OF-VARIABLES FOLDER-FOR-VOLUMES podman OPTION...

`podman kube play` of podman 4.3 drops mountPropagation, and waits for init containers that go on
(restartPolicy: Always), so that this does instead. A key that it does not know is an error, so that
nothing of the pod is left out.
"""

import os
import subprocess
import sys

import yaml

PROPAGATION = {None: "rprivate", "HostToContainer": "rslave", "Bidirectional": "rshared"}


def taken(mapping, known):
    """The values of a mapping, which may have no other keys."""
    unknown = mapping.keys() - set(known)
    if unknown:
        sys.exit(f"pod.py: no idea of {', '.join(sorted(unknown))}")
    return [mapping.get(key) for key in known]


def security(context):
    privileged, user, group, escalation, capabilities, seccomp = taken(
        context,
        ["privileged", "runAsUser", "runAsGroup", "allowPrivilegeEscalation", "capabilities", "seccompProfile"],
    )
    options = ["--privileged"] if privileged else []
    if user is not None:
        options += ["--user", f"{user}:{group}"]
    if escalation is False:
        options += ["--security-opt", "no-new-privileges"]
    for name in (capabilities or {}).get("drop", []):
        options += ["--cap-drop", name]
    assert seccomp in (None, {"type": "RuntimeDefault"}), seccomp
    return options


def options(container, volumes):
    name, image, restart, command, args, env, resources, context, mounts = taken(
        container,
        [
            "name", "image", "restartPolicy", "command", "args", "env", "resources", "securityContext", "volumeMounts",
        ],
    )  # fmt: skip
    line = ["--name", name, "--restart", "always", *security(context or {})]
    assert restart in (None, "Always"), restart
    for variable in env or []:
        line += ["--env", "{}={}".format(*taken(variable, ["name", "value"]))]
    [limits] = taken(resources or {}, ["limits"])
    [memory] = taken(limits or {}, ["memory"])
    line += ["--memory", memory.replace("Mi", "m")] if memory else []
    for mount in mounts or []:
        volume, path, propagation, only = taken(mount, ["name", "mountPath", "mountPropagation", "readOnly"])
        access = "ro" if only else "rw"
        line += ["--volume", f"{volumes[volume]}:{path}:{PROPAGATION[propagation]},{access}"]
    first, *rest = [*(command or []), *(args or [])]
    return [*line, "--entrypoint", first, image, *rest]


def main():
    source, variables, folder, *podman = sys.argv[1:]
    with open(source) as text:
        pod = yaml.safe_load(text)
    _, kind, _, spec = taken(pod, ["apiVersion", "kind", "metadata", "spec"])
    assert kind == "Pod", kind
    named, first, then = taken(spec, ["volumes", "initContainers", "containers"])
    volumes = {}
    for volume in named:
        name, empty = taken(volume, ["name", "emptyDir"])
        assert empty == {}, empty
        volumes[name] = os.path.join(folder, name)
        os.makedirs(volumes[name])
        # As Kubernetes makes them.
        os.chmod(volumes[name], 0o777)
    for container in [*first, *then]:
        words = ["run", "--detach", "--network", "host", "--env-file", variables, *options(container, volumes)]
        subprocess.run([*podman, *words], check=True)


main()
