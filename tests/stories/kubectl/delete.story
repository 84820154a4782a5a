# kubectl delete and kubectl wait: owners, owned, finalizers and namespaces.

$ kubectl create namespace yard
> kubectl -n yard create configmap plain
> kubectl -n yard delete configmap plain

$ kubectl -n yard delete configmap plain

$ kubectl -n yard delete configmap plain --ignore-not-found

# Background, as is the default: the owner goes at once, the owned soon after.

$ owned() {
>     kubectl -n yard create configmap owner-$1 -o name
>     uid=$(kubectl -n yard get configmap owner-$1 -o jsonpath='{.metadata.uid}')
>     kubectl apply -f - <<EOF
> apiVersion: v1
> kind: ConfigMap
> metadata:
>   name: owned-$1
>   namespace: yard
>   ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner-$1, uid: $uid, controller: true, blockOwnerDeletion: true}]
> EOF
> }
> declare -f owned > owned.bash; owned background

$ kubectl -n yard delete configmap owner-background
> kubectl -n yard wait --for=delete configmap/owned-background --timeout=20s
> kubectl -n yard get configmap owner-background owned-background
configmap "owner-background" deleted
Error from server (NotFound): configmaps "owner-background" not found
Error from server (NotFound): configmaps "owned-background" not found
[exit 1]

# Foreground: the owner stays, marked, until the owned is gone.

$ . ./owned.bash; owned foreground
> kubectl -n yard patch configmap owned-foreground --type merge -p '{"metadata":{"finalizers":["story.example.com/hold"]}}'
> kubectl -n yard delete configmap owner-foreground --cascade=foreground --wait=false
> until_true eval '[ -n "$(kubectl -n yard get configmap owned-foreground -o jsonpath={.metadata.deletionTimestamp})" ]'
> kubectl -n yard get configmap owner-foreground -o jsonpath='{.metadata.finalizers}{"\n"}'
> kubectl -n yard patch configmap owned-foreground --type merge -p '{"metadata":{"finalizers":null}}'
> kubectl -n yard wait --for=delete configmap/owner-foreground --timeout=20s
> kubectl -n yard get configmap owner-foreground owned-foreground
configmap/owner-foreground
configmap/owned-foreground created
configmap/owned-foreground patched
configmap "owner-foreground" deleted
["foregroundDeletion"]
configmap/owned-foreground patched
Error from server (NotFound): configmaps "owner-foreground" not found
Error from server (NotFound): configmaps "owned-foreground" not found
[exit 1]

# Orphan: the owned stays and forgets its owner.

$ . ./owned.bash; owned orphan
> kubectl -n yard delete configmap owner-orphan --cascade=orphan
> until_true eval '[ -z "$(kubectl -n yard get configmap owned-orphan -o jsonpath={.metadata.ownerReferences})" ]'
> kubectl -n yard get configmap owned-orphan -o name
configmap/owner-orphan
configmap/owned-orphan created
configmap "owner-orphan" deleted
configmap/owned-orphan

# An object whose owner never was is collected too.

$ kubectl apply -f - <<'EOF'
> apiVersion: v1
> kind: ConfigMap
> metadata:
>   name: stray
>   namespace: yard
>   ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: nobody, uid: 11111111-2222-3333-4444-555555555555}]
> EOF
> until_true eval '! kubectl -n yard get configmap stray'
configmap/stray created

# A finalizer holds what was deleted; wait sees it go.

$ kubectl -n yard create configmap held
> kubectl -n yard patch configmap held --type merge -p '{"metadata":{"finalizers":["story.example.com/hold"]}}'
> kubectl -n yard delete configmap held --wait=false
> kubectl -n yard get configmap held -o jsonpath='{.metadata.finalizers} {.metadata.deletionGracePeriodSeconds}{"\n"}'
> kubectl -n yard patch configmap held --type merge -p '{"metadata":{"finalizers":["story.example.com/hold","story.example.com/late"]}}'

$ kubectl -n yard wait --for=delete configmap/held --timeout=1s

$ kubectl -n yard patch configmap held --type json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
> kubectl -n yard get configmap held

# By label, all at once, and only in earnest.

$ for i in 1 2 3; do kubectl -n yard create configmap many-$i -o name; kubectl -n yard label configmap many-$i lot=a; done
> kubectl -n yard delete configmaps -l lot=a --dry-run=server

$ kubectl -n yard delete configmaps -l lot=a

$ kubectl -n yard get configmaps -l lot=a

# Waiting for what an object says.

$ kubectl -n yard create configmap slow --from-literal=state=young
> { until_true false; kubectl -n yard patch configmap slow -p '{"data":{"state":"old"}}'; } > /dev/null 2>&1 & 
> kubectl -n yard wait --for=jsonpath='{.metadata.name}'=slow configmap/slow
> kill $! 2> /dev/null

$ kubectl -n yard wait --for=condition=Ready configmap/slow --timeout=1s

# A namespace takes everything in it along, and takes nothing new meanwhile.

$ kubectl create namespace doomed
> kubectl -n doomed create configmap held
> kubectl -n doomed patch configmap held --type merge -p '{"metadata":{"finalizers":["story.example.com/hold"]}}'
> kubectl delete namespace doomed --wait=false
> kubectl get namespace doomed
> kubectl -n doomed create configmap late 2>&1 | grep -o 'forbidden: .*'
> until_true eval 'kubectl get namespace doomed -o jsonpath={.status.conditions} | grep story.example.com/hold'
> kubectl -n doomed patch configmap held --type json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
> kubectl wait --for=delete namespace/doomed --timeout=20s
> kubectl get namespace doomed
namespace/doomed created
configmap/held created
configmap/held patched
namespace "doomed" deleted
NAME   STATUS   AGE
doomed   Terminating   <age>
forbidden: unable to create new content in namespace doomed because it is being terminated
configmap/held patched
Error from server (NotFound): namespaces "doomed" not found
[exit 1]

$ kubectl delete namespace default
