# What is served, and what it means.

$ kubectl api-versions | grep -x 'v1\|apps/v1\|batch/v1\|apiextensions.k8s.io/v1\|rbac.authorization.k8s.io/v1\|coordination.k8s.io/v1\|persistance.atlas.infoblox.com/v1'
apiextensions.k8s.io/v1
apps/v1
batch/v1
coordination.k8s.io/v1
persistance.atlas.infoblox.com/v1
rbac.authorization.k8s.io/v1
v1

$ kubectl api-resources --api-group=apps --no-headers | grep -w 'deployments\|replicasets\|statefulsets'
deployments   deploy   apps/v1   true   Deployment
replicasets   rs   apps/v1   true   ReplicaSet
statefulsets   sts   apps/v1   true   StatefulSet

$ kubectl api-resources --api-group='' -o name | grep -x 'configmaps\|secrets\|pods\|namespaces\|events\|nodes\|services\|endpoints\|serviceaccounts\|resourcequotas\|limitranges\|persistentvolumeclaims'
configmaps
endpoints
events
limitranges
namespaces
nodes
persistentvolumeclaims
pods
resourcequotas
secrets
serviceaccounts
services

$ kubectl api-resources --namespaced=false --api-group=apiextensions.k8s.io
NAME   SHORTNAMES   APIVERSION   NAMESPACED   KIND
customresourcedefinitions   crd,crds   apiextensions.k8s.io/v1   false   CustomResourceDefinition

@ kubectl >= 1.27
$ kubectl api-resources --verbs=list,watch --api-group=coordination.k8s.io -o wide
NAME   SHORTNAMES   APIVERSION   NAMESPACED   KIND   VERBS   CATEGORIES
leases   coordination.k8s.io/v1   true   Lease   create,delete,deletecollection,get,list,patch,update,watch

$ kubectl api-resources --api-group=persistance.atlas.infoblox.com
NAME   SHORTNAMES   APIVERSION   NAMESPACED   KIND
databaseclaims   dbc   persistance.atlas.infoblox.com/v1   true   DatabaseClaim
...

# Our own kinds, explained from their schemas.

@ kubectl >= 1.27
$ kubectl explain databaseclaim.spec
GROUP:   persistance.atlas.infoblox.com
KIND:   DatabaseClaim
VERSION:   v1

FIELD: spec <Object>
...
FIELDS:
...
  databaseName	<string>
    Database to create or adopt on the server.
...
  userName	<string> -required-
...

@ kubectl < 1.27
$ kubectl explain databaseclaim.spec
KIND:   DatabaseClaim
VERSION:  persistance.atlas.infoblox.com/v1

RESOURCE: spec <Object>
...
FIELDS:
...
   databaseName	<string>
     Database to create or adopt on the server.
...
   userName	<string> -required-
...

$ kubectl explain databaseclaim.spec.databaseName | grep '^FIELD' | tr -s ' '
FIELD: databaseName <string>

$ kubectl explain dbc --recursive | grep -o 'connectionInfo\b.*' | head -1
connectionInfo	<Object>

# Kubernetes' own kinds.

@ kubectl >= 1.27
$ kubectl explain deployment.spec.replicas
GROUP:   apps
KIND:   Deployment
VERSION:   v1

FIELD: replicas <integer>


DESCRIPTION:
    Number of desired pods. This is a pointer to distinguish between explicit
    zero and not specified. Defaults to 1.

@ kubectl >= 1.27
$ kubectl explain configmap.data
KIND:   ConfigMap
VERSION:   v1

FIELD: data <map[string]string>


DESCRIPTION:
    Data contains the configuration data. Each key must consist of alphanumeric
    characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use
    the BinaryData field. The keys stored in Data must not overlap with the keys
    in the BinaryData field, this is enforced during validation process.

$ kubectl explain pod.spec.containers.env --recursive | grep -c secretKeyRef
1

$ kubectl explain databaseclaim.spec.nothing 2>&1 | tail -1
error: field "nothing" does not exist

$ kubectl version -o json 2> /dev/null | grep -c gitVersion
2

$ kubectl cluster-info | sed 's/\x1b\[[0-9;]*m//g' | head -1
Kubernetes control plane is running at <server>
