#!/usr/bin/env python3
"""Writes the documentation of the Kubernetes API that the crate k8s-openapi does not contain:
src/kubernetes/apiserver/openapi/descriptions.txt for OpenAPI and src/kubernetes/kinds/printers/column_descriptions.txt for the
columns of tables.

    scripts/api-descriptions.py ROOT

ROOT holds checkouts of k8s.io modules at one release: api, apimachinery, apiextensions-apiserver and
kube-aggregator. Each line is a name and a JSON object: the query parameters of the options of requests, the
values of enumerations by the names of src/kubernetes/apimachinery/schema/types, and the columns of kinds.
"""
import importlib.util
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
# The columns of each kind. A reference TYPE.FIELD is the documentation of that field.
COLUMNS = {
    "core.v1": {
        "Pod": {
            "Ready": "The aggregate readiness state of this pod for accepting traffic.",
            "Status": "The aggregate status of the containers in this pod.",
            "Restarts": "The number of times the containers in this pod have been restarted and when the last "
                        "container in this pod has restarted.",
            "IP": "PodStatus.podIP", "Node": "PodSpec.nodeName", "Nominated Node": "PodStatus.nominatedNodeName",
            "Readiness Gates": "PodSpec.readinessGates",
        },
        "PodTemplate": {"Pod Labels": "The labels for the pod template."},
        "ReplicationController": {
            "Desired": "ReplicationControllerSpec.replicas", "Current": "ReplicationControllerStatus.replicas",
            "Ready": "ReplicationControllerStatus.readyReplicas", "Selector": "ReplicationControllerSpec.selector",
        },
        "Service": {
            "Type": "ServiceSpec.type", "Cluster-IP": "ServiceSpec.clusterIP",
            "External-IP": "ServiceSpec.externalIPs", "Port(s)": "ServiceSpec.ports",
            "Selector": "ServiceSpec.selector",
        },
        "Endpoints": {"Endpoints": "Endpoints.subsets"},
        "Node": {
            "Status": "The status of the node", "Roles": "The roles of the node",
            "Version": "NodeSystemInfo.kubeletVersion", "Internal-IP": "NodeStatus.addresses",
            "External-IP": "NodeStatus.addresses", "OS-Image": "NodeSystemInfo.osImage",
            "Kernel-Version": "NodeSystemInfo.kernelVersion",
            "Container-Runtime": "NodeSystemInfo.containerRuntimeVersion",
        },
        "Event": {
            "Last Seen": "Event.lastTimestamp", "Type": "Event.type", "Reason": "Event.reason",
            "Object": "Event.involvedObject", "Subobject": "ObjectReference.fieldPath", "Source": "Event.source",
            "Message": "Event.message", "First Seen": "Event.firstTimestamp", "Count": "Event.count",
        },
        "Namespace": {"Status": "The status of the namespace"},
        "Secret": {"Type": "Secret.type", "Data": "Secret.data"},
        "ConfigMap": {"Data": "ConfigMap.data"},
        "PersistentVolume": {
            "Capacity": "PersistentVolumeSpec.capacity", "Access Modes": "PersistentVolumeSpec.accessModes",
            "Reclaim Policy": "PersistentVolumeSpec.persistentVolumeReclaimPolicy",
            "Status": "PersistentVolumeStatus.phase", "Claim": "PersistentVolumeSpec.claimRef",
            "StorageClass": "StorageClass of the pv", "VolumeAttributesClass": "VolumeAttributesClass of the pv",
            "Reason": "PersistentVolumeStatus.reason", "VolumeMode": "PersistentVolumeSpec.volumeMode",
        },
        "PersistentVolumeClaim": {
            "Status": "PersistentVolumeClaimStatus.phase", "Volume": "PersistentVolumeClaimSpec.volumeName",
            "Capacity": "PersistentVolumeClaimStatus.capacity",
            "Access Modes": "PersistentVolumeClaimStatus.accessModes", "StorageClass": "StorageClass of the pvc",
            "VolumeAttributesClass": "VolumeAttributesClass of the pvc",
            "VolumeMode": "PersistentVolumeClaimSpec.volumeMode",
        },
        "ComponentStatus": {
            "Status": "Status of the component conditions", "Message": "Message of the component conditions",
            "Error": "Error of the component conditions",
        },
        "ResourceQuota": {
            "Request": "Request represents a minimum amount of cpu/memory that a container may consume.",
            "Limit": "Limits control the maximum amount of cpu/memory that a container may use independent of "
                     "contention on the node.",
        },
    },
    "apps.v1": {
        "Deployment": {
            "Ready": "Number of the pod with ready state", "Up-to-date": "DeploymentStatus.updatedReplicas",
            "Available": "DeploymentStatus.availableReplicas", "Selector": "DeploymentSpec.selector",
        },
        "StatefulSet": {"Ready": "Number of the pod with ready state"},
        "ReplicaSet": {
            "Desired": "ReplicaSetSpec.replicas", "Current": "ReplicaSetStatus.replicas",
            "Ready": "ReplicaSetStatus.readyReplicas", "Selector": "ReplicaSetSpec.selector",
        },
        "DaemonSet": {
            "Desired": "DaemonSetStatus.desiredNumberScheduled",
            "Current": "DaemonSetStatus.currentNumberScheduled", "Ready": "DaemonSetStatus.numberReady",
            "Up-to-date": "DaemonSetStatus.updatedNumberScheduled", "Available": "DaemonSetStatus.numberAvailable",
            "Node Selector": "core.v1.PodSpec.nodeSelector", "Selector": "DaemonSetSpec.selector",
        },
        "ControllerRevision": {
            "Controller": "Controller of the object", "Revision": "ControllerRevision.revision",
        },
    },
    "batch.v1": {
        "Job": {
            "Status": "Status of the job.", "Completions": "JobStatus.succeeded",
            "Duration": "Time required to complete the job.", "Selector": "JobSpec.selector",
        },
        "CronJob": {
            "Schedule": "CronJobSpec.schedule", "Timezone": "CronJobSpec.timeZone",
            "Suspend": "CronJobSpec.suspend", "Active": "CronJobStatus.active",
            "Last Schedule": "CronJobStatus.lastScheduleTime", "Selector": "JobSpec.selector",
        },
    },
    "policy.v1": {
        "PodDisruptionBudget": {
            "Min Available": "The minimum number of pods that must be available.",
            "Max Unavailable": "The maximum number of pods that may be unavailable.",
            "Allowed Disruptions": "Calculated number of pods that may be disrupted at this time.",
        },
    },
    "autoscaling.v2": {
        "HorizontalPodAutoscaler": {
            "Reference": "HorizontalPodAutoscalerSpec.scaleTargetRef",
            "Targets": "HorizontalPodAutoscalerSpec.metrics", "MinPods": "HorizontalPodAutoscalerSpec.minReplicas",
            "MaxPods": "HorizontalPodAutoscalerSpec.maxReplicas",
            "Replicas": "HorizontalPodAutoscalerStatus.currentReplicas",
        },
    },
    "networking.v1": {
        "Ingress": {
            "Class": "The name of the IngressClass resource that should be used for additional configuration",
            "Hosts": "Hosts that incoming requests are matched against before the ingress rule",
            "Address": "Address is a list containing ingress points for the load-balancer",
            "Ports": "Ports of TLS configurations that open",
        },
        "IngressClass": {
            "Controller": "Controller that is responsible for handling this class",
            "Parameters": "A reference to a resource with additional parameters",
        },
        "NetworkPolicy": {"Pod-Selector": "NetworkPolicySpec.podSelector"},
        "IPAddress": {"ParentRef": "IPAddressSpec.parentRef"},
        "ServiceCIDR": {"CIDRs": "ServiceCIDRSpec.cidrs"},
    },
    "discovery.v1": {
        "EndpointSlice": {
            "AddressType": "EndpointSlice.addressType", "Ports": "EndpointSlice.ports",
            "Endpoints": "EndpointSlice.endpoints",
        },
    },
    "rbac.v1": {
        kind: {
            "Role": f"{kind}.roleRef", "Users": f"Users in the {binding}", "Groups": f"Groups in the {binding}",
            "ServiceAccounts": f"ServiceAccounts in the {binding}",
        } for kind, binding in [("RoleBinding", "roleBinding"), ("ClusterRoleBinding", "clusterRoleBinding")]
    },
    "certificates.v1": {
        "CertificateSigningRequest": {
            "SignerName": "CertificateSigningRequestSpec.signerName",
            "Requestor": "CertificateSigningRequestSpec.request",
            "RequestedDuration": "CertificateSigningRequestSpec.expirationSeconds",
            "Condition": "CertificateSigningRequestStatus.conditions",
        },
    },
    "coordination.v1": {"Lease": {"Holder": "LeaseSpec.holderIdentity"}},
    "storage.v1": {
        "StorageClass": {
            "Provisioner": "StorageClass.provisioner", "ReclaimPolicy": "StorageClass.reclaimPolicy",
            "VolumeBindingMode": "StorageClass.volumeBindingMode",
            "AllowVolumeExpansion": "StorageClass.allowVolumeExpansion",
        },
        "VolumeAttributesClass": {"DriverName": "VolumeAttributesClass.driverName"},
        "VolumeAttachment": {
            "Attacher": "VolumeAttachmentSpec.attacher", "PV": "VolumeAttachmentSource.persistentVolumeName",
            "Node": "VolumeAttachmentSpec.nodeName", "Attached": "VolumeAttachmentStatus.attached",
        },
        "CSINode": {"Drivers": "Drivers indicates the number of CSI drivers registered on the node"},
        "CSIDriver": {
            "AttachRequired": "CSIDriverSpec.attachRequired", "PodInfoOnMount": "CSIDriverSpec.podInfoOnMount",
            "StorageCapacity": "CSIDriverSpec.storageCapacity", "TokenRequests": "CSIDriverSpec.tokenRequests",
            "RequiresRepublish": "CSIDriverSpec.requiresRepublish", "Modes": "CSIDriverSpec.volumeLifecycleModes",
        },
        "CSIStorageCapacity": {
            "StorageClassName": "CSIStorageCapacity.storageClassName", "Capacity": "CSIStorageCapacity.capacity",
        },
    },
    "scheduling.v1": {
        "PriorityClass": {
            "Value": "PriorityClass.value", "Global-Default": "PriorityClass.globalDefault",
            "PreemptionPolicy": "PriorityClass.preemptionPolicy",
        },
    },
    "node.v1": {"RuntimeClass": {"Handler": "RuntimeClass.handler"}},
    "admissionregistration.v1": {
        "MutatingWebhookConfiguration": {
            "Webhooks": "Webhooks indicates the number of webhooks registered in this configuration",
        },
        "ValidatingWebhookConfiguration": {
            "Webhooks": "Webhooks indicates the number of webhooks registered in this configuration",
        },
        "ValidatingAdmissionPolicy": {
            "Validations": "Validations indicates the number of validation rules defined in this configuration",
            "ParamKind": "ParamKind specifies the kind of resources used to parameterize this policy",
        },
        "ValidatingAdmissionPolicyBinding": {
            "PolicyName": "PolicyName indicates the policy definition which the policy binding binded to",
            "ParamRef": "ParamRef indicates the param resource which sets the configration param",
        },
        "MutatingAdmissionPolicy": {
            "Mutations": "Mutation indicates the number of mutations rules defined in this configuration",
            "ParamKind": "ParamKind specifies the kind of resources used to parameterize this policy",
        },
        "MutatingAdmissionPolicyBinding": {
            "PolicyName": "PolicyName indicates the policy definition which the policy binding binded to",
            "ParamRef": "ParamRef indicates the param resource which sets the configration param",
        },
    },
    "flowcontrol.v1": {
        "FlowSchema": {
            "PriorityLevel": "FlowSchemaSpec.priorityLevelConfiguration",
            "MatchingPrecedence": "FlowSchemaSpec.matchingPrecedence",
            "DistinguisherMethod": "FlowSchemaSpec.distinguisherMethod",
            "MissingPL": "references a broken or non-existent PriorityLevelConfiguration",
        },
        "PriorityLevelConfiguration": {
            "Type": "PriorityLevelConfigurationSpec.type",
            "NominalConcurrencyShares": "LimitedPriorityLevelConfiguration.nominalConcurrencyShares",
            "Queues": "QueuingConfiguration.queues", "HandSize": "QueuingConfiguration.handSize",
            "QueueLengthLimit": "QueuingConfiguration.queueLengthLimit",
        },
    },
    "resource.v1": {
        "ResourceClaim": {"State": "A summary of the current state (allocated, pending, reserved, etc.)."},
        "ResourceSlice": {
            "Node": "ResourceSliceSpec.nodeName", "Driver": "ResourceSliceSpec.driver", "Pool": "ResourcePool.name",
        },
    },
    "apiregistration.v1": {
        "APIService": {
            "Service": "The reference to the service that hosts this API endpoint.",
            "Available": "Whether this service is available.",
        },
    },
}
OPTIONS = ["ListOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "DeleteOptions"]


def builtin_types():
    spec = importlib.util.spec_from_file_location("builtin_types", HERE / "builtin-types.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def swagger_docs(directory):
    """The documentation of the fields of the types of a package."""
    source = (directory / "types_swagger_doc_generated.go").read_text()
    docs = {}
    for name, body in re.findall(r"var map_(\w+) = map\[string\]string\{\n(.*?)\n\}", source, re.S):
        entries = re.findall(r'^\s*("(?:[^"\\]|\\.)*"):\s*("(?:[^"\\]|\\.)*"),$', body, re.M)
        docs[name] = {json.loads(key): json.loads(text) for key, text in entries if key != '""'}
    return docs


def column_descriptions(root, packages):
    for package, kinds in COLUMNS.items():
        def text(column, package=package):
            reference = re.fullmatch(r"(?:([a-z]+\.v\d+)\.)?([A-Z]\w+)\.([a-z]\w*)", column)
            if not reference:
                return column
            other, name, field = reference.groups()
            return swagger_docs(root / packages[other or package])[name][field]
        for kind, columns in kinds.items():
            yield kind, {column: text(value) for column, value in columns.items()}


def value_descriptions(directory, enumerations):
    """The documentation of the constants of each enumeration of a package, as kube-openapi shortens it."""
    found = {name: {} for name in enumerations}
    for file in sorted(pathlib.Path(directory).glob("*.go")):
        if file.name.endswith("_test.go") or "generated" in file.name:
            continue
        comment = []
        for line in file.read_text().split("\n"):
            line = line.strip()
            if line.startswith("//"):
                comment.append(line[2:].strip())
                continue
            constant = re.match(r'(?:const )?(\w+)\s+(\w+)\s*=\s*("[^"]*")', line)
            if constant and constant.group(2) in found:
                text = " ".join(part for part in comment if not part.startswith("+")).strip()
                text = text.removeprefix(constant.group(1)).strip()
                found[constant.group(2)][json.loads(constant.group(3))] = re.sub(r"\s+", " ", text)
            comment = []
    return found


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    root = pathlib.Path(sys.argv[1])
    packages = dict(builtin_types().PACKAGES)
    options = swagger_docs(root / packages["meta.v1"])
    lines = [f"{name} {json.dumps(options[name])}" for name in OPTIONS]
    types = HERE.parent / "src/kubernetes/apimachinery/schema/types"
    for package, directory in packages.items():
        declared = (types / f"{package}.types").read_text()
        enumerations = re.findall(r"^(\w+) = string enum ", declared, re.M)
        values = value_descriptions(root / directory, enumerations)
        for name in enumerations:
            texts = {value: text for value, text in sorted(values[name].items()) if text}
            if texts:
                lines.append(f"{package}.{name} {json.dumps(texts)}")
    server = HERE.parent / "src/kubernetes/apiserver"
    (server / "openapi/descriptions.txt").write_text("\n".join(lines) + "\n")
    columns = column_descriptions(root, packages)
    lines = [f"{kind} {json.dumps(texts)}" for kind, texts in columns]
    (HERE.parent / "src/kubernetes/kinds/printers/column_descriptions.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
