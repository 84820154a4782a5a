# kubectl patch: JSON patch, merge patch, strategic merge patch.

$ kubectl create namespace sewing
> kubectl -n sewing create configmap cloth --from-literal=color=blue --from-literal=size=3
namespace/sewing created
configmap/cloth created

$ kubectl -n sewing patch configmap cloth --type merge -p '{"data":{"color":"red","size":null}}'
configmap/cloth patched

$ kubectl -n sewing patch configmap cloth --type merge -p '{"data":{"color":"red"}}'
configmap/cloth patched (no change)

$ kubectl -n sewing get configmap cloth -o jsonpath='{.data}'
{"color":"red"}

$ kubectl -n sewing patch configmap cloth --type json -p '[{"op":"test","path":"/data/color","value":"red"},{"op":"add","path":"/data/size","value":"4"}]'
configmap/cloth patched

@ kubectl >= 1.24
$ kubectl -n sewing patch configmap cloth --type json -p '[{"op":"test","path":"/data/color","value":"blue"},{"op":"remove","path":"/data/size"}]'
The request is invalid: the server rejected our request due to an error in our request
[exit 1]

@ kubectl >= 1.24
$ kubectl -n sewing patch configmap cloth --type json -p '[{"op":"remove","path":"/data/none"}]'
The request is invalid: the server rejected our request due to an error in our request
[exit 1]

$ kubectl -n sewing get configmap cloth -o jsonpath='{.data}'
{"color":"red","size":"4"}

# Strategic: lists of objects merge by their key, `$patch` says otherwise.

$ kubectl -n sewing create deployment coat --image=cloth:1
deployment.apps/coat created

$ kubectl -n sewing patch deployment coat -p '{"spec":{"template":{"spec":{"containers":[{"name":"cloth","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]},{"name":"lining","image":"lining:1"}]}}}}'
deployment.apps/coat patched

$ kubectl -n sewing patch deployment coat -p '{"spec":{"template":{"spec":{"containers":[{"name":"cloth","env":[{"name":"A","$patch":"delete"},{"name":"B","value":"3"}]}]}}}}'
deployment.apps/coat patched

$ kubectl -n sewing get deployment coat -o jsonpath='{range .spec.template.spec.containers[*]}{.name} {.image} {.env}{"\n"}{end}'
cloth cloth:1 [{"name":"B","value":"3"}]
lining lining:1

$ kubectl -n sewing patch deployment coat -p '{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"cloth"},{"name":"lining"}],"containers":[{"name":"lining","$patch":"delete"}]}}}}'
> kubectl -n sewing get deployment coat -o jsonpath='{.spec.template.spec.containers[*].name}'
deployment.apps/coat patched
cloth

# A merge patch replaces lists whole; the result is checked like any object.

$ kubectl -n sewing patch deployment coat --type merge -p '{"spec":{"template":{"spec":{"containers":[{"name":"new"}]}}}}'
The Deployment "coat" is invalid: spec.template.spec.containers[0].image: Required value
[exit 1]

$ kubectl -n sewing patch deployment coat --type merge -p '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'
The Deployment "coat" is invalid:
* spec.template.metadata.labels: Invalid value: {"app":"coat"}: `selector` does not match template `labels`
* spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable
[exit 1]

$ kubectl -n sewing patch configmap cloth -p 'not json'
Error from server (BadRequest): json: cannot unmarshal string into Go value of type map[string]interface {}
[exit 1]

$ kubectl -n sewing patch configmap nothing -p '{}'
Error from server (NotFound): configmaps "nothing" not found
[exit 1]

$ kubectl -n sewing patch configmap cloth --type merge -p '{"metadata":{"name":"other"}}'
Error from server (BadRequest): the name of the object (other) does not match the name on the URL (cloth)
[exit 1]

$ kubectl -n sewing patch configmap cloth --type merge -p '{"metadata":{"resourceVersion":"1"},"data":{"a":"b"}}'
Error from server (Conflict): Operation cannot be fulfilled on configmaps "cloth": the object has been modified; please apply your changes to the latest version and try again
[exit 1]

# A status of its own.

@ kubectl >= 1.24
$ kubectl -n sewing patch deployment coat --subresource=status --type merge -p '{"status":{"replicas":1,"readyReplicas":1},"spec":{"replicas":7}}'
> kubectl -n sewing get deployment coat -o jsonpath='{.spec.replicas} {.status.readyReplicas} {.metadata.generation}'
deployment.apps/coat patched
1 1 4
