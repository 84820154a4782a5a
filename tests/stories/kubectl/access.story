# Who may do what: RBAC, impersonation, tokens.

$ kubectl auth can-i '*' '*'
yes

$ kubectl create namespace den
> kubectl create namespace other
> kubectl -n den create serviceaccount reader
> kubectl -n den create role look --verb=get,list,watch --resource=configmaps
> kubectl -n den create rolebinding look --role=look --serviceaccount=den:reader
namespace/den created
namespace/other created
serviceaccount/reader created
role.rbac.authorization.k8s.io/look created
rolebinding.rbac.authorization.k8s.io/look created

$ kubectl -n den auth can-i list configmaps --as=system:serviceaccount:den:reader
yes

$ kubectl -n den auth can-i delete configmaps --as=system:serviceaccount:den:reader
no
[exit 1]

$ kubectl -n other auth can-i list configmaps --as=system:serviceaccount:den:reader
no
[exit 1]

$ kubectl -n den auth can-i list configmaps --as=nobody
no
[exit 1]

$ kubectl -n den auth can-i get pods/log --as=nobody --as-group=system:masters
yes

$ kubectl -n den auth can-i --list --as=system:serviceaccount:den:reader --no-headers | grep configmaps
configmaps   []   []   [get list watch]

$ kubectl -n den get configmaps --as=nobody
Error from server (Forbidden): configmaps is forbidden: User "nobody" cannot list resource "configmaps" in API group "" in the namespace "den"
[exit 1]

$ kubectl -n den create configmap x --as=system:serviceaccount:den:reader 2>&1 | grep -o 'configmaps is.*'
configmaps is forbidden: User "system:serviceaccount:den:reader" cannot create resource "configmaps" in API group "" in the namespace "den"

$ kubectl get namespaces --as=system:serviceaccount:den:reader
Error from server (Forbidden): namespaces is forbidden: User "system:serviceaccount:den:reader" cannot list resource "namespaces" in API group "" at the cluster scope
[exit 1]

$ kubectl auth can-i get /healthz --as=nobody --as-group=system:authenticated
yes

# A token is good for what its account may, and only while it is whole.

@ kubectl >= 1.24
$ cp $KUBECONFIG mine; export KUBECONFIG=$PWD/mine
> token=$(kubectl -n den create token reader --duration=10m)
> echo "$token" | cut -d. -f2 | tr -- '-_' '+/' | base64 -d 2> /dev/null | grep -o '"sub":"[^"]*"'
> kubectl config set-credentials reader --token="$token"
> kubectl config set-context --current --user=reader > /dev/null
> kubectl -n den get configmaps -o name | grep -c kube-root-ca.crt
> kubectl -n den get secrets
> kubectl config set-credentials reader --token="${token}x" > /dev/null
> kubectl -n den get configmaps
"sub":"system:serviceaccount:den:reader"
User "reader" set.
1
Error from server (Forbidden): secrets is forbidden: User "system:serviceaccount:den:reader" cannot list resource "secrets" in API group "" in the namespace "den"
error: You must be logged in to the server (Unauthorized)
[exit 1]

@ kubectl >= 1.24
$ kubectl -n den create token nobody
error: failed to create token: serviceaccounts "nobody" not found
[exit 1]

@ kubectl >= 1.24
$ kubectl -n den create token reader --duration=1m
error: failed to create token: TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes
[exit 1]

# Nobody gives away what they do not have.

$ kubectl -n den create role grant --verb=create --resource=roles,rolebindings
> kubectl -n den create rolebinding grant --role=grant --user=eve
> kubectl -n den create role steal --verb=get --resource=secrets --as=eve
role.rbac.authorization.k8s.io/grant created
rolebinding.rbac.authorization.k8s.io/grant created
Error from server (Forbidden): roles.rbac.authorization.k8s.io "steal" is forbidden: user "eve" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}
[exit 1]

$ kubectl -n den create rolebinding steal --clusterrole=cluster-admin --user=eve --as=eve 2>&1 | sed 's/attempting to grant.*/attempting to grant …/'
error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io "steal" is forbidden: user "eve" (groups=["system:authenticated"]) is attempting to grant …
{APIGroups:["*"], Resources:["*"], Verbs:["*"]}
{NonResourceURLs:["*"], Verbs:["*"]}

$ kubectl create clusterrole look-everywhere --verb=get,list --resource=namespaces
> kubectl create clusterrolebinding look-everywhere --clusterrole=look-everywhere --group=guests
> kubectl get namespace den -o name --as=guest --as-group=guests
clusterrole.rbac.authorization.k8s.io/look-everywhere created
clusterrolebinding.rbac.authorization.k8s.io/look-everywhere created
namespace/den

$ kubectl get clusterrole admin edit view cluster-admin -o name
clusterrole.rbac.authorization.k8s.io/admin
clusterrole.rbac.authorization.k8s.io/edit
clusterrole.rbac.authorization.k8s.io/view
clusterrole.rbac.authorization.k8s.io/cluster-admin

$ kubectl create clusterrole extra --verb=get --resource=configmaps
> kubectl label clusterrole extra rbac.authorization.k8s.io/aggregate-to-view=true
> kubectl get clusterrole extra
clusterrole.rbac.authorization.k8s.io/extra created
clusterrole.rbac.authorization.k8s.io/extra labeled
NAME   CREATED AT
extra   <time>

$ kubectl auth reconcile -f - <<'EOF'
> apiVersion: rbac.authorization.k8s.io/v1
> kind: Role
> metadata: {name: look, namespace: den}
> rules:
> - {apiGroups: [""], resources: [secrets], verbs: [get]}
> EOF
role.rbac.authorization.k8s.io/look reconciled
	reconciliation required update
	missing rules added:
		{Verbs:[get] APIGroups:[] Resources:[secrets] ResourceNames:[] NonResourceURLs:[]}

@ kubectl >= 1.28
$ kubectl auth whoami -o jsonpath='{.status.userInfo.groups}' --as=eve --as-group=friends
["friends","system:authenticated"]


