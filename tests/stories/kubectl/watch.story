# kubectl get --watch prints the list first, then every change as a row.

$ kubectl create namespace watched
namespace/watched created

$ kubectl -n watched create configmap first --from-literal=a=1
> kubectl -n watched get configmaps -l '!none' --field-selector metadata.name!=kube-root-ca.crt --watch > seen & watcher=$!
> until_true grep first seen
> kubectl -n watched create configmap second
> until_true grep second seen
> kubectl -n watched patch configmap second -p '{"data":{"a":"1","b":"2"}}'
> until_true grep 'second *2' seen
> kubectl -n watched delete configmap first
> until_true eval '[ $(grep -c first seen) -eq 2 ]'
> kill $watcher; wait $watcher 2>/dev/null
> cat seen
configmap/first created
configmap/second created
configmap/second patched
configmap "first" deleted
NAME   DATA   AGE
first   1   <age>
second   0   <age>
second   2   <age>
first   1   <age>

# With --output-watch-events the kind of change stands in front; --watch-only leaves the list out.

$ kubectl -n watched get configmap second --watch-only --output-watch-events > seen & watcher=$!
> until_true eval 'kubectl -n watched annotate configmap second touched=$RANDOM --overwrite && grep MODIFIED seen'
> kubectl -n watched delete configmap second
> until_true grep DELETED seen
> kill $watcher; wait $watcher 2>/dev/null
> cut -d' ' -f1 seen | sort -u
configmap "second" deleted
DELETED
EVENT
MODIFIED

# A watch from a version on tells everything since.

$ kubectl -n watched create configmap third
> version=$(kubectl -n watched get configmap third -o jsonpath='{.metadata.resourceVersion}')
> kubectl -n watched patch configmap third -p '{"data":{"a":"1"}}'
> kubectl -n watched patch configmap third -p '{"data":{"a":"2"}}'
> kubectl get --raw "/api/v1/namespaces/watched/configmaps?watch=1&fieldSelector=metadata.name%3Dthird&resourceVersion=$version&timeoutSeconds=1" |
>     grep -o '"type":"[A-Z]*"\|"data":{[^}]*}'
configmap/third created
configmap/third patched
configmap/third patched
"type":"MODIFIED"
"data":{"a":"1"}
"type":"MODIFIED"
"data":{"a":"2"}

# A version that is none.

$ kubectl get --raw '/api/v1/namespaces/watched/configmaps?watch=1&resourceVersion=nonsense'
Error from server: resourceVersion: Invalid value: "nonsense": strconv.ParseUint: parsing "nonsense": invalid syntax
[exit 1]
