# A kind that nobody knew before.

$ manifest crd <<'EOF'
> apiVersion: apiextensions.k8s.io/v1
> kind: CustomResourceDefinition
> metadata: {name: boats.harbour.example.com}
> spec:
>   group: harbour.example.com
>   scope: Namespaced
>   names: {plural: boats, singular: boat, kind: Boat, shortNames: [bt], categories: [fleet]}
>   versions:
>   - name: v1
>     served: true
>     storage: true
>     subresources:
>       status: {}
>       scale: {specReplicasPath: .spec.crew, statusReplicasPath: .status.aboard}
>     additionalPrinterColumns:
>     - {name: Sails, type: integer, jsonPath: .spec.sails}
>     - {name: Port, type: string, jsonPath: .spec.home.port, priority: 1}
>     - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
>     - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
>     schema:
>       openAPIV3Schema:
>         type: object
>         description: Something that swims.
>         properties:
>           spec:
>             type: object
>             required: [sails]
>             x-kubernetes-validations:
>             - {rule: "self.sails <= self.crew", message: every sail needs a hand}
>             - {rule: "self.sails >= oldSelf.sails", message: sails are never taken down}
>             properties:
>               sails: {type: integer, minimum: 1, maximum: 9, description: How many sails it carries.}
>               crew: {type: integer, default: 4}
>               paint: {type: string, enum: [red, green]}
>               home:
>                 type: object
>                 default: {}
>                 properties:
>                   port: {type: string, default: anywhere, pattern: '^[a-z]+$'}
>           status:
>             type: object
>             x-kubernetes-preserve-unknown-fields: true
> EOF
> kubectl apply -f crd.yaml
> kubectl wait --for=condition=Established crd/boats.harbour.example.com --timeout=20s
> until_true kubectl get boats
customresourcedefinition.apiextensions.k8s.io/boats.harbour.example.com created
customresourcedefinition.apiextensions.k8s.io/boats.harbour.example.com condition met

$ kubectl get crd boats.harbour.example.com
NAME   CREATED AT
boats.harbour.example.com   <time>

$ manifest boat <<'EOF'
> apiVersion: harbour.example.com/v1
> kind: Boat
> metadata: {name: swan, namespace: default}
> spec: {sails: 2}
> EOF
> kubectl apply -f boat.yaml
boat.harbour.example.com/swan created

$ kubectl get boats
NAME   SAILS   READY   AGE
swan   2   <age>

$ kubectl get bt swan -o wide
NAME   SAILS   PORT   READY   AGE
swan   2   anywhere   <age>

$ kubectl get fleet
NAME   SAILS   READY   AGE
swan   2   <age>

$ kubectl get boat.v1.harbour.example.com/swan -o jsonpath='{.spec}'
{"crew":4,"home":{"port":"anywhere"},"sails":2}

@ kubectl >= 1.27
$ kubectl explain boat.spec.sails
GROUP:   harbour.example.com
KIND:   Boat
VERSION:   v1

FIELD: sails <integer>


DESCRIPTION:
    How many sails it carries.

# What the schema refuses, and what it prunes.

$ sed 's/sails: 2/sails: 12, paint: blue, home: {port: "7"}/' boat.yaml | kubectl apply -f -
The Boat "swan" is invalid:
* spec.home.port: Invalid value: "7": spec.home.port in body should match '^[a-z]+$'
* spec.paint: Unsupported value: "blue": supported values: "red", "green"
* spec.sails: Invalid value: 12: spec.sails in body should be less than or equal to 9
* <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation
[exit 1]

$ sed 's/swan/duck/; s/sails: 2/sails: 5/' boat.yaml | kubectl apply -f -
The Boat "duck" is invalid: spec: Invalid value: every sail needs a hand
[exit 1]

$ kubectl patch boat swan --type merge -p '{"spec":{"sails":1}}'
The Boat "swan" is invalid: spec: Invalid value: sails are never taken down
[exit 1]

$ sed 's/swan/duck/; s/sails: 2/crew: 5/' boat.yaml | kubectl apply --validate=false -f -
The Boat "duck" is invalid:
* spec.sails: Required value
* <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation
[exit 1]

@ kubectl >= 1.27
$ sed 's/sails: 2/sails: 2, anchor: iron/' boat.yaml | kubectl apply -f - 2>&1 | grep -o 'strict decoding error.*'
strict decoding error: unknown field "spec.anchor"

@ kubectl >= 1.27
$ sed 's/sails: 2/sails: 2, anchor: iron/' boat.yaml | kubectl apply --validate=false -f -
> kubectl get boat swan -o jsonpath='{.spec}'
boat.harbour.example.com/swan configured
{"crew":4,"home":{"port":"anywhere"},"sails":2}

# Spec and status are written apart; only the spec moves the generation.

$ kubectl patch boat swan --type merge -p '{"status":{"aboard":3},"spec":{"paint":"red"}}'
> kubectl get boat swan -o jsonpath='{.spec.paint} {.status} {.metadata.generation}'
boat.harbour.example.com/swan patched
red  2

@ kubectl >= 1.24
$ kubectl patch boat swan --subresource=status --type merge -p '{"status":{"aboard":3,"conditions":[{"type":"Ready","status":"True"}]}}'
> kubectl get boat swan -o jsonpath='{.status.aboard} {.metadata.generation}{"\n"}'
> kubectl get boat swan
> kubectl wait --for=condition=Ready boat/swan --timeout=20s
boat.harbour.example.com/swan patched
3 2
NAME   SAILS   READY   AGE
swan   2   True   <age>
boat.harbour.example.com/swan condition met

$ kubectl scale boat swan --replicas=6
> kubectl get boat swan -o jsonpath='{.spec.crew}'
boat.harbour.example.com/swan scaled
6

# Merge patches only: a custom kind has no strategic merge.

@ kubectl >= 1.24
$ kubectl patch boat swan --type strategic -p '{"spec":{"crew":7}}'
error: application/strategic-merge-patch+json is not supported by harbour.example.com/v1, Kind=Boat: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml
[exit 1]

$ kubectl describe boat swan | grep -A5 '^Spec:'
Spec:
  Crew:  6
  Home:
    Port:  anywhere
  Paint:   red
  Sails:   2

$ kubectl diff -f boat.yaml | grep '^[-+] '
[exit 1]

$ kubectl apply --server-side --field-manager=mate -f boat.yaml
boat.harbour.example.com/swan serverside-applied

@ kubectl >= 1.24
$ sed 's/sails: 2/sails: 3/' boat.yaml | kubectl apply --server-side --field-manager=cook -f - 2>&1 | head -1
error: Apply failed with 1 conflict: conflict with "mate": .spec.sails

# The definition takes its objects along.

$ kubectl delete crd boats.harbour.example.com --timeout=20s
> until_true eval '! kubectl get --raw /apis/harbour.example.com/v1'
> kubectl get --raw /apis/harbour.example.com/v1
customresourcedefinition.apiextensions.k8s.io "boats.harbour.example.com" deleted
Error from server (NotFound): the server could not find the requested resource
[exit 1]
