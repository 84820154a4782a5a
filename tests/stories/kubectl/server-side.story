# kubectl apply --server-side: the server knows who owns which field.

$ kubectl create namespace yard
namespace/yard created

$ manifest map <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: map}
> data: {color: blue, size: "3"}
> EOF
> kubectl -n yard apply --server-side --field-manager=alice -f map.yaml
configmap/map serverside-applied

$ kubectl -n yard apply --server-side --field-manager=alice -f map.yaml
configmap/map serverside-applied

# Bob wants another color: the server says who has it.

$ sed 's/blue/red/' map.yaml > red.yaml

@ kubectl >= 1.24
$ kubectl -n yard apply --server-side --field-manager=bob -f red.yaml
error: Apply failed with 1 conflict: conflict with "alice": .data.color
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
[exit 1]

$ kubectl -n yard apply --server-side --field-manager=bob --force-conflicts -f red.yaml
configmap/map serverside-applied

$ kubectl -n yard get configmap map -o jsonpath='{.data}'
{"color":"red","size":"3"}

$ kubectl -n yard apply --server-side --field-manager=alice -f map.yaml 2>&1 | head -1
error: Apply failed with 1 conflict: conflict with "bob": .data.color

# Equal values are shared, not fought over; what nobody wants any more goes.

$ printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {color: red}\n' > shared.yaml
> kubectl -n yard apply --server-side --field-manager=alice -f shared.yaml
> kubectl -n yard get configmap map -o jsonpath='{.data}{"\n"}'
> printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {}\n' > empty.yaml
> kubectl -n yard apply --server-side --field-manager=bob -f empty.yaml
> kubectl -n yard get configmap map -o jsonpath='{.data}{"\n"}'
> kubectl -n yard apply --server-side --field-manager=alice -f empty.yaml
> kubectl -n yard get configmap map -o jsonpath='{.data}{"\n"}'
configmap/map serverside-applied
{"color":"red","size":"3"}
configmap/map serverside-applied
{"color":"red"}
configmap/map serverside-applied

# A plain write owns what it changed.

$ kubectl -n yard patch configmap map --type merge -p '{"data":{"size":"9"}}' --field-manager=carol
configmap/map patched

$ kubectl -n yard apply --server-side --field-manager=alice -f map.yaml 2>&1 | head -1
error: Apply failed with 1 conflict: conflict with "carol" using v1: .data.size

$ kubectl -n yard get configmap map -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation} {.fieldsV1}{"\n"}{end}'
carol Update {"f:data":{".":{},"f:size":{}}}

# Lists with keys: two managers, two ports of one Service.

$ kubectl -n yard apply --server-side --field-manager=alice -f - <<'EOF'
> apiVersion: v1
> kind: Service
> metadata: {name: web}
> spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
> EOF
service/web serverside-applied

$ kubectl -n yard apply --server-side --field-manager=bob -f - <<'EOF'
> apiVersion: v1
> kind: Service
> metadata: {name: web}
> spec: {ports: [{name: metrics, port: 9090}]}
> EOF
service/web serverside-applied

$ kubectl -n yard get service web -o jsonpath='{range .spec.ports[*]}{.name} {.port}/{.protocol} {end}'
http 80/TCP metrics 9090/TCP

$ kubectl -n yard apply --server-side --field-manager=bob -f - <<'EOF' 2>&1 | head -1
> apiVersion: v1
> kind: Service
> metadata: {name: web}
> spec: {ports: [{name: other, port: 80}]}
> EOF
error: Apply failed with 1 conflict: conflict with "alice": .spec.ports[port=80,protocol="TCP"].name

# Nothing is stored by a dry run, and --server-side takes over what client-side apply made.

$ kubectl -n yard apply --server-side --dry-run=server -f - <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: ghost}
> EOF
> kubectl -n yard get configmap ghost
configmap/ghost serverside-applied (server dry run)
Error from server (NotFound): configmaps "ghost" not found
[exit 1]

$ kubectl -n yard apply -f - <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: moved}
> data: {a: "1", b: "2"}
> EOF
configmap/moved created

@ kubectl >= 1.26
$ kubectl -n yard apply --server-side -f - <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: moved}
> data: {a: "1"}
> EOF
> kubectl -n yard get configmap moved -o jsonpath='{.data}'
configmap/moved serverside-applied
{"a":"1"}
