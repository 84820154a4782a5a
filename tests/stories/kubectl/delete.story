# kubectl delete and kubectl wait: owners, owned, finalizers and namespaces.

$ kubectl create namespace field
> kubectl -n field create configmap plain
> kubectl -n field delete configmap plain
namespace/field created
configmap/plain created
configmap "plain" deleted

$ kubectl -n field delete configmap plain
Error from server (NotFound): configmaps "plain" not found
[exit 1]

$ kubectl -n field delete configmap plain --ignore-not-found

# Background, as is the default: the owner goes at once, the owned soon after.

$ owned() {
>     kubectl -n field create configmap owner-$1 -o name
>     uid=$(kubectl -n field get configmap owner-$1 -o jsonpath='{.metadata.uid}')
>     kubectl apply -f - <<EOF
> apiVersion: v1
> kind: ConfigMap
> metadata:
>   name: owned-$1
>   namespace: field
>   ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner-$1, uid: $uid, controller: true, blockOwnerDeletion: true}]
> EOF
> }
> declare -f owned > owned.bash; owned background
configmap/owner-background
configmap/owned-background created

$ kubectl -n field delete configmap owner-background
> kubectl -n field wait --for=delete configmap/owned-background --timeout=20s > /dev/null 2>&1
> kubectl -n field get configmap owner-background owned-background
configmap "owner-background" deleted
Error from server (NotFound): configmaps "owner-background" not found
Error from server (NotFound): configmaps "owned-background" not found
[exit 1]

# Foreground: the owner stays, marked, until the owned is gone.

$ . ./owned.bash; owned foreground
> kubectl -n field patch configmap owned-foreground --type merge -p '{"metadata":{"finalizers":["story.example.com/hold"]}}'
> kubectl -n field delete configmap owner-foreground --cascade=foreground --wait=false
> until_true eval '[ -n "$(kubectl -n field get configmap owned-foreground -o jsonpath={.metadata.deletionTimestamp})" ]'
> kubectl -n field get configmap owner-foreground -o jsonpath='{.metadata.finalizers}{"\n"}'
> kubectl -n field patch configmap owned-foreground --type merge -p '{"metadata":{"finalizers":null}}'
> kubectl -n field wait --for=delete configmap/owner-foreground --timeout=20s > /dev/null 2>&1
> kubectl -n field get configmap owner-foreground owned-foreground
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
> kubectl -n field delete configmap owner-orphan --cascade=orphan
> until_true eval '[ -z "$(kubectl -n field get configmap owned-orphan -o jsonpath={.metadata.ownerReferences})" ]'
> kubectl -n field get configmap owned-orphan -o name
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
>   namespace: field
>   ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: nobody, uid: 11111111-2222-3333-4444-555555555555}]
> EOF
> until_true eval '! kubectl -n field get configmap stray'
configmap/stray created

# A finalizer holds what was deleted; wait sees it go.

$ kubectl -n field create configmap held
> kubectl -n field patch configmap held --type merge -p '{"metadata":{"finalizers":["story.example.com/hold"]}}'
> kubectl -n field delete configmap held --wait=false
> kubectl -n field get configmap held -o jsonpath='{.metadata.finalizers} {.metadata.deletionGracePeriodSeconds}{"\n"}'
> kubectl -n field patch configmap held --type merge -p '{"metadata":{"finalizers":["story.example.com/hold","story.example.com/late"]}}'
configmap/held created
configmap/held patched
configmap "held" deleted
["story.example.com/hold"] 0
The ConfigMap "held" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"story.example.com/late"}
[exit 1]

$ kubectl -n field wait --for=delete configmap/held --timeout=4s
error: timed out waiting for the condition on configmaps/held
[exit 1]

$ kubectl -n field patch configmap held --type json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
> kubectl -n field get configmap held
configmap/held patched
Error from server (NotFound): configmaps "held" not found
[exit 1]

# By label, all at once, and only in earnest.

$ for i in 1 2 3; do kubectl -n field create configmap many-$i -o name; kubectl -n field label configmap many-$i lot=a; done
> kubectl -n field delete configmaps -l lot=a --dry-run=server
configmap/many-1
configmap/many-1 labeled
configmap/many-2
configmap/many-2 labeled
configmap/many-3
configmap/many-3 labeled
configmap "many-1" deleted (server dry run)
configmap "many-2" deleted (server dry run)
configmap "many-3" deleted (server dry run)

$ kubectl -n field delete configmaps -l lot=a
configmap "many-1" deleted
configmap "many-2" deleted
configmap "many-3" deleted

$ kubectl -n field get configmaps -l lot=a
No resources found in field namespace.

# Waiting for what an object says.

@ kubectl >= 1.23
$ kubectl -n field create configmap slow
> kubectl -n field wait --for=jsonpath='{.data.state}'=old configmap/slow --timeout=20s > seen 2>&1 & waiting=$!
> kubectl -n field patch configmap slow -p '{"data":{"state":"old"}}'
> wait $waiting; cat seen
configmap/slow created
configmap/slow patched
configmap/slow condition met

@ kubectl >= 1.23
$ kubectl -n field wait --for=condition=Ready configmap/slow --timeout=4s
error: timed out waiting for the condition on configmaps/slow
[exit 1]

# A namespace takes everything in it along, and takes nothing new meanwhile.

$ kubectl create namespace doomed
> kubectl -n doomed create configmap held
> kubectl -n doomed patch configmap held --type merge -p '{"metadata":{"finalizers":["story.example.com/hold"]}}'
> kubectl delete namespace doomed --wait=false
> kubectl get namespace doomed
> kubectl -n doomed create configmap late 2>&1 | grep -o 'forbidden: .*'
> until_true eval 'kubectl get namespace doomed -o jsonpath={.status.conditions} | grep story.example.com/hold'
> kubectl -n doomed patch configmap held --type json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
> kubectl wait --for=delete namespace/doomed --timeout=20s > /dev/null 2>&1
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
Error from server (Forbidden): namespaces "default" is forbidden: this namespace may not be deleted
[exit 1]
