# kubectl apply as most people use it: the client remembers what it applied and merges three ways.

$ kubectl create namespace garden
namespace/garden created

$ kubectl -n garden apply -f - <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: bed}
> data: {north: roses, south: herbs}
> EOF
configmap/bed created

$ kubectl -n garden apply -f - <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: bed}
> data: {north: roses, south: herbs}
> EOF
configmap/bed unchanged

# Someone else adds a key; the next apply removes what it applied before and leaves theirs.

$ kubectl -n garden patch configmap bed --type merge -p '{"data":{"west":"ivy"}}'
configmap/bed patched

$ manifest bed <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: bed}
> data: {north: tulips}
> EOF
> kubectl -n garden diff -f bed.yaml | grep '^[-+]  [a-z]*: [a-z]*$'
-  north: roses
-  south: herbs
+  north: tulips

$ kubectl -n garden apply -f bed.yaml --dry-run=server
configmap/bed configured (server dry run)

$ kubectl -n garden get configmap bed -o jsonpath='{.data}'
{"north":"roses","south":"herbs","west":"ivy"}

$ kubectl -n garden apply -f bed.yaml
configmap/bed configured

$ kubectl -n garden get configmap bed -o jsonpath='{.data}'
{"north":"tulips","west":"ivy"}

$ kubectl -n garden diff -f bed.yaml

$ kubectl -n garden apply view-last-applied configmap bed
apiVersion: v1
data:
  north: tulips
kind: ConfigMap
metadata:
  annotations: {}
  name: bed
  namespace: garden

# Lists of built-in kinds are merged by their keys.

$ manifest web <<'EOF'
> apiVersion: apps/v1
> kind: Deployment
> metadata: {name: web}
> spec:
>   selector: {matchLabels: {app: web}}
>   template:
>     metadata: {labels: {app: web}}
>     spec:
>       containers:
>       - {name: web, image: "web:1", env: [{name: COLOR, value: blue}]}
> EOF
> kubectl -n garden apply -f web.yaml
deployment.apps/web created

$ kubectl -n garden patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"helper","image":"helper:1"}]}}}}'
deployment.apps/web patched

$ sed -i 's/web:1/web:2/; s/blue/green/' web.yaml
> kubectl -n garden apply -f web.yaml
deployment.apps/web configured

$ kubectl -n garden get deployment web -o jsonpath='{range .spec.template.spec.containers[*]}{.name} {.image} {.env}{"\n"}{end}'
helper helper:1
web web:2 [{"name":"COLOR","value":"green"}]

# Several objects at once, one of them not applied before.

$ kubectl -n garden apply -f - <<'EOF'
> apiVersion: v1
> kind: List
> items:
> - {apiVersion: v1, kind: ConfigMap, metadata: {name: one, labels: {set: a}}}
> - {apiVersion: v1, kind: Secret, metadata: {name: two, labels: {set: a}}}
> EOF
configmap/one created
secret/two created

$ kubectl -n garden create configmap plain --from-literal=a=1
> kubectl -n garden create configmap plain --from-literal=a=2 --dry-run=client -o yaml > plain.yaml
> kubectl -n garden apply -f plain.yaml 2>&1 | sed 's/ is missing the .*/ is missing …/'
configmap/plain created
Warning: resource configmaps/plain is missing …
configmap/plain configured

# What a server refuses.

$ kubectl -n garden apply -f - <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: Not_A_Name}
> EOF
The ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
[exit 1]

@ kubectl >= 1.27
$ kubectl -n garden apply -f - <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: typo}
> dota: {a: b}
> EOF
Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dota"
[exit 1]

@ kubectl >= 1.24
$ kubectl -n garden apply -f - <<'EOF'
> apiVersion: example.com/v1
> kind: Nothing
> metadata: {name: x}
> EOF
error: resource mapping not found for name: "x" namespace: "" from "STDIN": no matches for kind "Nothing" in version "example.com/v1"
ensure CRDs are installed first
[exit 1]

$ kubectl apply -f - <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata: {name: lost, namespace: nowhere}
> EOF
Error from server (NotFound): error when creating "STDIN": namespaces "nowhere" not found
[exit 1]
