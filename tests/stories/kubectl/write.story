# kubectl create, replace, edit, label and annotate.

$ kubectl create namespace works
namespace/works created

$ kubectl -n works create -f - <<'EOF' | sed 's/-[a-z0-9]* created/-<random> created/'
> apiVersion: v1
> kind: ConfigMap
> metadata: {generateName: lot-}
> data: {a: "1"}
> EOF
configmap/lot-<random> created


$ manifest map <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: map, labels: {tier: front}}
> data: {a: "1"}
> EOF
> kubectl -n works create -f map.yaml
configmap/map created

$ kubectl -n works create -f map.yaml
Error from server (AlreadyExists): error when creating "map.yaml": configmaps "map" already exists
[exit 1]

$ sed -i 's/"1"/"2"/' map.yaml
> kubectl -n works replace -f map.yaml
configmap/map replaced

$ kubectl -n works get configmap map -o jsonpath='{.data.a}'
2

# A replace that names an old version is refused.

$ kubectl -n works get configmap map -o yaml > old.yaml
> kubectl -n works label configmap map tier=back --overwrite
> kubectl -n works replace -f old.yaml
configmap/map labeled
Error from server (Conflict): error when replacing "old.yaml": Operation cannot be fulfilled on configmaps "map": the object has been modified; please apply your changes to the latest version and try again
[exit 1]

$ kubectl -n works label configmap map tier=front
error: 'tier' already has a value (back), and --overwrite is false
[exit 1]

$ kubectl -n works label configmap map tier- color=red > /dev/null
> kubectl -n works get configmap map --show-labels
NAME   DATA   AGE   LABELS
map   1   <age>   color=red

$ kubectl -n works label configmap map 'color=not allowed' --overwrite
error: invalid label value: "color=not allowed": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
[exit 1]

$ kubectl -n works annotate configmap map note='anything goes: even this'
configmap/map annotated

$ kubectl -n works annotate configmap map note-
configmap/map annotated

$ kubectl -n works annotate configmap --all seen=yes -o name | grep -v kube-root-ca.crt | sed 's/lot-.*/lot-<random>/'
configmap/lot-<random>
configmap/map

# The editor is a program like any other.

$ printf '%s\n' '#!/bin/sh' 'sed -i "s/^  a:.*/  a: three/" "$1"' > editor; chmod +x editor
> KUBE_EDITOR=./editor kubectl -n works edit configmap map
> kubectl -n works get configmap map -o jsonpath='{.data.a}'
configmap/map edited
three

$ KUBE_EDITOR=./editor kubectl -n works edit configmap map
Edit cancelled, no changes made.

# Replaced by force, a dry run, and a quota.

$ kubectl -n works replace --force -f map.yaml
configmap "map" deleted
configmap/map replaced

$ kubectl -n works create configmap ghost --dry-run=server
> kubectl -n works get configmap ghost
configmap/ghost created (server dry run)
Error from server (NotFound): configmaps "ghost" not found
[exit 1]

$ kubectl -n works create quota few --hard=configmaps=4
> until_true eval '[ -n "$(kubectl -n works get quota few -o jsonpath={.status.hard.configmaps})" ]'
> for i in 1 2 3; do kubectl -n works create configmap more-$i; done 2>&1 | grep -o 'configmaps "more-3".*'
resourcequota/few created
configmaps "more-3" is forbidden: exceeded quota: few, requested: configmaps=1, used: configmaps=4, limited: configmaps=4

# Secrets: stringData is written, data is kept.

$ kubectl -n works apply -f - <<'EOF'
> apiVersion: v1
> kind: Secret
> metadata: {name: door}
> stringData: {code: "1234"}
> EOF
> kubectl -n works get secret door -o jsonpath='{.type} {.data} {.stringData}'
secret/door created
Opaque {"code":"MTIzNA=="}
