# Deployments, roll-outs and logs. No controller runs here: the story writes what one would.

$ kubectl create namespace mill
> kubectl -n mill create deployment web --image=web:1 --replicas=2
namespace/mill created
deployment.apps/web created

$ kubectl -n mill get deployments
NAME   READY   UP-TO-DATE   AVAILABLE   AGE
web   0/2   0   0   <age>

$ kubectl -n mill scale deployment web --replicas=3
deployment.apps/web scaled

$ kubectl -n mill scale deployment web --replicas=5 --current-replicas=2
error: Expected replicas to be 2, was 3
[exit 1]

$ kubectl -n mill get deployment web -o jsonpath='{.spec.replicas} {.metadata.generation}'
3 2

$ kubectl get --raw /apis/apps/v1/namespaces/mill/deployments/web/scale | grep -o '"kind":"[A-Za-z]*"\|"spec":{[^}]*}\|"selector":"[^"]*"'
"kind":"Scale"
"spec":{"replicas":3}
"selector":"app=web"

$ kubectl -n mill set image deployment/web web=web:2
deployment.apps/web image updated

$ kubectl -n mill set env deployment/web COLOR=blue
> kubectl -n mill get deployment web -o jsonpath='{.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env}'
deployment.apps/web env updated
web:2 [{"name":"COLOR","value":"blue"}]

# A roll-out is done when the status says so.

$ status() { kubectl replace --raw /apis/apps/v1/namespaces/mill/deployments/web/status -f - > /dev/null; }
> kubectl -n mill get deployment web -o json > web.json
> generation=$(kubectl -n mill get deployment web -o jsonpath='{.metadata.generation}')
> jq() { python3 -c 'import json,sys; d=json.load(open("web.json")); d["status"]=json.loads(sys.argv[1]); d["metadata"].pop("resourceVersion"); print(json.dumps(d))' "$1"; }
> jq "{\"observedGeneration\":$generation,\"replicas\":3,\"updatedReplicas\":3,\"readyReplicas\":1,\"availableReplicas\":1}" | status
> kubectl -n mill rollout status deployment/web --watch=false
> kubectl -n mill rollout status deployment/web > seen 2>&1 & waiting=$!
> until_true grep Waiting seen
> jq "{\"observedGeneration\":$generation,\"replicas\":3,\"updatedReplicas\":3,\"readyReplicas\":3,\"availableReplicas\":3,\"conditions\":[{\"type\":\"Available\",\"status\":\"True\",\"reason\":\"MinimumReplicasAvailable\",\"message\":\"ok\"}]}" | status
> wait $waiting; tail -1 seen
> kubectl -n mill wait --for=condition=Available deployment/web --timeout=20s
> kubectl -n mill get deployment web
Waiting for deployment "web" rollout to finish: 1 of 3 updated replicas are available...
deployment "web" successfully rolled out
deployment.apps/web condition met
NAME   READY   UP-TO-DATE   AVAILABLE   AGE
web   3/3   3   3   <age>

$ kubectl -n mill rollout restart deployment/web
deployment.apps/web restarted

$ kubectl -n mill rollout pause deployment/web
deployment.apps/web paused

# A pod and what it wrote.

$ kubectl apply -f - <<'EOF'
> apiVersion: v1
> kind: Pod
> metadata: {name: web-1, namespace: mill, labels: {app: web}}
> spec: {containers: [{name: web, image: "web:1"}, {name: side, image: "side:1"}]}
> EOF
pod/web-1 created

$ kubectl -n mill get pods
NAME   READY   STATUS   RESTARTS   AGE
web-1   0/2   Pending   0   <age>

$ kubectl -n mill get pod web-1 -o wide
NAME   READY   STATUS   RESTARTS   AGE   IP   NODE   NOMINATED NODE   READINESS GATES
web-1   0/2   Pending   0   <age>   <none>   <none>   <none>   <none>

@ kubectl >= 1.24
$ kubectl -n mill patch pod web-1 --subresource=status -p '{"status":{"phase":"Running","podIP":"127.0.0.2","containerStatuses":[{"name":"web","ready":true,"restartCount":2,"image":"web:1","imageID":"","state":{"running":{}}},{"name":"side","ready":false,"restartCount":0,"image":"side:1","imageID":"","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}'
> kubectl -n mill get pods
pod/web-1 patched
NAME   READY   STATUS   RESTARTS   AGE
web-1   1/2   CrashLoopBackOff   2   <age>

$ mkdir -p $TERRACE_DATA_DIR/logs/mill/web-1
> printf 'one\ntwo\nthree\n' > $TERRACE_DATA_DIR/logs/mill/web-1/web.log
> kubectl -n mill logs web-1 -c web
one
two
three

$ kubectl -n mill logs web-1 -c web --tail=1
three

$ kubectl -n mill logs web-1 -c web --limit-bytes=5
one
t

$ kubectl -n mill logs web-1 -c nobody 2>&1 | sed 's/ out of.*//'
error: container nobody is not valid for pod web-1

$ kubectl -n mill logs web-9 2>&1 | grep -o '(NotFound): pods "web-9" not found'
(NotFound): pods "web-9" not found

# Following shows what is written later.

$ kubectl -n mill logs -f web-1 -c web > seen & follower=$!
> until_true grep three seen
> echo four >> $TERRACE_DATA_DIR/logs/mill/web-1/web.log
> until_true grep four seen
> kill $follower; wait $follower 2>/dev/null
> cat seen
one
two
three
four

$ kubectl -n mill delete pod web-1 --grace-period=0 --force 2>&1 | tail -1
pod "web-1" force deleted
