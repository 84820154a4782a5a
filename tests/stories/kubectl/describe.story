# kubectl describe, and the events it shows.

$ kubectl create namespace office
namespace/office created

$ kubectl describe namespace office
Name:   office
Labels:   kubernetes.io/metadata.name=office
Annotations:  <none>
Status:   Active

No resource quota.

No LimitRange resource.

$ kubectl -n office create configmap settings --from-literal=color=blue
configmap/settings created

@ kubectl >= 1.23
$ kubectl -n office describe configmap settings
Name:   settings
Namespace:   office
Labels:   <none>
Annotations:  <none>

Data
====
color:
----
blue


BinaryData
====

Events:  <none>

@ kubectl < 1.23
$ kubectl -n office describe configmap settings
Name:   settings
Namespace:   office
Labels:   <none>
Annotations:  <none>

Data
====
color:
----
blue
Events:  <none>

$ kubectl -n office create secret generic door --from-literal=code=1234
> kubectl -n office describe secret door
secret/door created
Name:   door
Namespace:   office
Labels:   <none>
Annotations:  <none>

Type:  Opaque

Data
====
code:  4 bytes

$ kubectl create -f - <<'EOF'
> apiVersion: v1
> kind: Event
> metadata: {name: settings.1, namespace: office}
> involvedObject: {apiVersion: v1, kind: ConfigMap, name: settings, namespace: office}
> type: Warning
> reason: Faded
> message: the color is not what it was
> count: 3
> source: {component: painter}
> firstTimestamp: "2026-01-01T00:00:00Z"
> lastTimestamp: "2026-01-01T00:00:00Z"
> EOF
event/settings.1 created

$ kubectl -n office get events
LAST SEEN   TYPE   REASON   OBJECT   MESSAGE
<age>   Warning   Faded   configmap/settings   the color is not what it was

$ kubectl -n office get events --field-selector involvedObject.name=settings,type=Warning -o custom-columns=REASON:.reason,COUNT:.count
REASON   COUNT
Faded   3

$ kubectl -n office get events --field-selector involvedObject.name=other
No resources found in office namespace.

@ kubectl >= 1.26
$ kubectl -n office events --for configmap/settings | sed 's/ (x3 over [0-9a-z]*)//'
LAST SEEN   TYPE   REASON   OBJECT   MESSAGE
<age>   Warning   Faded   ConfigMap/settings   the color is not what it was

$ kubectl -n office get events.events.k8s.io -o jsonpath='{.items[0].reason} {.items[0].regarding.name} {.items[0].deprecatedCount}'
Faded settings 3

$ kubectl apply -f - <<'EOF'
> apiVersion: apps/v1
> kind: Deployment
> metadata: {name: web, namespace: office, labels: {app: web}}
> spec:
>   replicas: 2
>   selector: {matchLabels: {app: web}}
>   template:
>     metadata: {labels: {app: web}}
>     spec:
>       containers: [{name: web, image: "web:1", ports: [{containerPort: 8080}]}]
> EOF
deployment.apps/web created

$ kubectl -n office describe deployment web | grep -v '^ *\(Node-Selectors\|Tolerations\|Environment\|OldReplicaSets\|NewReplicaSet\):'
Name:   web
Namespace:   office
CreationTimestamp:   <time>
Labels:   app=web
Annotations:   <none>
Selector:   app=web
Replicas:   2 desired | 0 updated | 0 total | 0 available | 0 unavailable
StrategyType:   RollingUpdate
MinReadySeconds:   0
RollingUpdateStrategy:  25% max unavailable, 25% max surge
Pod Template:
  Labels:  app=web
  Containers:
   web:
    Image:   web:1
    Port:   8080/TCP
    Host Port:   0/TCP
    Mounts:   <none>
  Volumes:   <none>
Events:   <none>

$ kubectl -n office get deployment web -o wide
NAME   READY   UP-TO-DATE   AVAILABLE   AGE   CONTAINERS   IMAGES   SELECTOR
web   0/2   0   0   <age>   web   web:1   app=web

$ kubectl -n office describe configmap nothing
Error from server (NotFound): configmaps "nothing" not found
[exit 1]
