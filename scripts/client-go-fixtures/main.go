// Prints what client-go sends as protobuf: one JSON document in each line, with an object of each kind as
// JSON and the bytes of the request, the same for lists, watch frames and DeleteOptions.
//
// It is built with the vendored modules of a checkout of kubernetes-sigs/kueue; see
// scripts/client-go-fixtures.sh.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"sort"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// The group versions that are recorded.
var groupVersions = []string{
	"v1", "apps/v1", "batch/v1", "autoscaling/v1", "autoscaling/v2", "policy/v1", "rbac.authorization.k8s.io/v1",
	"networking.k8s.io/v1", "storage.k8s.io/v1", "scheduling.k8s.io/v1", "coordination.k8s.io/v1", "node.k8s.io/v1",
	"discovery.k8s.io/v1", "events.k8s.io/v1", "certificates.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1",
	"resource.k8s.io/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1", "admissionregistration.k8s.io/v1",
	"apiextensions.k8s.io/v1",
}

// maxDepth ends recursive types such as JSONSchemaProps.
const maxDepth = 7

// filler sets the fields of an object to distinct values.
type filler struct{ next int }

func (f *filler) number() int {
	f.next++
	return f.next
}

func (f *filler) fill(value reflect.Value, depth int) {
	switch target := value.Addr().Interface().(type) {
	case *metav1.Time:
		*target = metav1.NewTime(time.Unix(1767225600+int64(f.number()), 0).UTC())
		return
	case *metav1.MicroTime:
		*target = metav1.NewMicroTime(time.Unix(1767225600, int64(f.number())*1000).UTC())
		return
	case *metav1.Duration:
		*target = metav1.Duration{Duration: time.Duration(f.number()) * time.Millisecond}
		return
	case *resource.Quantity:
		*target = resource.MustParse(fmt.Sprintf("%dm", f.number()))
		return
	case *intstr.IntOrString:
		if n := f.number(); n%2 == 0 {
			*target = intstr.FromInt32(int32(n))
		} else {
			*target = intstr.FromString(fmt.Sprintf("%d%%", n))
		}
		return
	case *metav1.FieldsV1:
		target.SetRawBytes([]byte(fmt.Sprintf(`{"f:a%d":{}}`, f.number())))
		return
	case *runtime.RawExtension:
		target.Raw = []byte(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"%d"}}`, f.number()))
		return
	case *apiextensionsv1.JSON:
		target.Raw = []byte(fmt.Sprintf(`{"a":%d}`, f.number()))
		return
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		target.Allows = true
		return
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		target.Property = []string{fmt.Sprintf("p%d", f.number())}
		return
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		target.Schema = &apiextensionsv1.JSONSchemaProps{Type: "string"}
		return
	case *apiextensionsv1.CustomResourceConversion:
		target.Strategy = apiextensionsv1.NoneConverter
		return
	case *metav1.TypeMeta:
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				f.fill(value.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if depth < maxDepth {
			value.Set(reflect.New(value.Type().Elem()))
			f.fill(value.Elem(), depth+1)
		}
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte{byte(f.number()), 0, 255})
			return
		}
		if depth < maxDepth {
			value.Set(reflect.MakeSlice(value.Type(), 2, 2))
			f.fill(value.Index(0), depth+1)
			f.fill(value.Index(1), depth+1)
		}
	case reflect.Map:
		if depth < maxDepth {
			value.Set(reflect.MakeMap(value.Type()))
			for range 2 {
				key, element := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
				f.fill(key, depth+1)
				f.fill(element, depth+1)
				value.SetMapIndex(key, element)
			}
		}
	case reflect.String:
		value.SetString(fmt.Sprintf("s%d é", f.number()))
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(int64(-f.number()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		value.SetUint(uint64(f.number()))
	case reflect.Float64:
		value.SetFloat(float64(f.number()) + 0.5)
	default:
		panic(fmt.Sprintf("no value for %s", value.Type()))
	}
}

// fixture is a line of the output.
type fixture struct {
	// The kind of the message: request, list, watch or options.
	Form string `json:"form"`
	// The value with its apiVersion and kind.
	Object json.RawMessage `json:"object"`
	// The type of a watch event.
	Event string `json:"event,omitempty"`
	// The bytes, in base64.
	Protobuf []byte `json:"protobuf"`
}

// recorder is a server that keeps the last request.
type recorder struct {
	method, contentType string
	body                []byte
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.method, r.contentType = request.Method, request.Header.Get("Content-Type")
	r.body, _ = io.ReadAll(request.Body)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
}

func main() {
	check(apiextensionsv1.AddToScheme(scheme.Scheme))
	sent := &recorder{}
	server := httptest.NewServer(sent)
	defer server.Close()
	var lines []string
	add := func(f fixture) {
		line, err := json.Marshal(f)
		check(err)
		lines = append(lines, string(line))
	}
	for _, text := range groupVersions {
		version, err := schema.ParseGroupVersion(text)
		check(err)
		config := &rest.Config{Host: server.URL, APIPath: "/apis", ContentConfig: rest.ContentConfig{
			GroupVersion: &version, NegotiatedSerializer: scheme.Codecs.WithoutConversion(), ContentType: protobuf,
		}}
		client, err := rest.RESTClientFor(config)
		check(err)
		send := func(form string, request *rest.Request, object runtime.Object) {
			check(request.Body(object).Do(context.Background()).Error())
			if sent.contentType != protobuf {
				panic("not sent as protobuf: " + sent.contentType)
			}
			add(fixture{Form: form, Object: asJSON(object), Protobuf: sent.body})
		}
		kinds := scheme.Scheme.KnownTypes(version)
		names := make([]string, 0, len(kinds))
		for name, kind := range kinds {
			if isKind(kind) && !strings.HasSuffix(name, "Options") && name != "WatchEvent" {
				names = append(names, name)
			}
		}
		sort.Strings(names)
		for _, name := range names {
			kind := version.WithKind(name)
			form := "request"
			if strings.HasSuffix(name, "List") {
				form = "list"
			}
			for _, full := range []bool{false, true} {
				value := reflect.New(kinds[name])
				if full {
					(&filler{}).fill(value.Elem(), depthOf(form))
				}
				object := value.Interface().(runtime.Object)
				object.GetObjectKind().SetGroupVersionKind(kind)
				send(form, client.Post().Resource("r").Name("n"), object)
			}
		}
		options := &metav1.DeleteOptions{}
		(&filler{}).fill(reflect.ValueOf(options).Elem(), 0)
		options.SetGroupVersionKind(version.WithKind("DeleteOptions"))
		send("options", client.Delete().Resource("r").Name("n"), options)
	}
	for _, event := range watchFrames() {
		add(event)
	}
	for _, line := range lines {
		fmt.Fprintln(os.Stdout, line)
	}
}

// depthOf limits the items of lists, which are also recorded one by one.
func depthOf(form string) int {
	if form == "list" {
		return maxDepth - 4
	}
	return 0
}

func isKind(kind reflect.Type) bool {
	_, found := kind.FieldByName("TypeMeta")
	return found
}

// watchFrames are the events as a server of k8s.io/apimachinery sends them.
func watchFrames() []fixture {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), protobuf)
	object := &metav1.Status{Status: "Failure", Message: "too old", Reason: "Expired", Code: 410}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	var frames []fixture
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		buffer := &bytes.Buffer{}
		encoder := streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(buffer), info.StreamSerializer.Serializer)
		embedded := serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}.EncoderForVersion(info.Serializer, nil)
		check(restwatch.NewEncoder(encoder, embedded).Encode(&watch.Event{Type: kind, Object: object}))
		frames = append(frames, fixture{Form: "watch", Event: string(kind), Object: asJSON(object), Protobuf: buffer.Bytes()})
	}
	return frames
}

func asJSON(object runtime.Object) json.RawMessage {
	text, err := json.Marshal(object)
	check(err)
	return text
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
