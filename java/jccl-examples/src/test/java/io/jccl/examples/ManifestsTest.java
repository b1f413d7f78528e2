package io.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.kubernetes.client.openapi.JSON;
import io.kubernetes.client.openapi.models.V1Job;
import io.kubernetes.client.openapi.models.V1JobSpec;
import io.kubernetes.client.openapi.models.V1Service;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** Checks that the manifests in {@code deploy} match the types of the Kubernetes API and contain what JCCL needs. */
class ManifestsTest {

    private static final Path FOLDER = Path.of("../../deploy/kubernetes");

    @BeforeAll
    static void prepareTypesOfTheApi() {
        new JSON(); // its constructor sets a static reader that the API's types need
    }

    private static List<JsonObject> documents(String file) throws IOException {
        List<JsonObject> documents = new ArrayList<>();
        for (Object document :
                new Yaml(new SafeConstructor(new LoaderOptions())).loadAll(Files.readString(FOLDER.resolve(file)))) {
            documents.add(new Gson().toJsonTree(document).getAsJsonObject());
        }
        return documents;
    }

    private static JsonObject job(String file) throws IOException {
        return documents(file).stream()
                .filter(document -> document.get("kind").getAsString().equals("Job"))
                .findFirst()
                .orElseThrow();
    }

    /** Throws if a field is unknown, is missing or has the wrong type. */
    private static void validate(JsonObject document) throws IOException {
        switch (document.get("kind").getAsString()) {
            case "Job" -> V1Job.validateJsonElement(document);
            case "Service" -> V1Service.validateJsonElement(document);
            case "JobSet" -> {
                for (JsonElement job : document.getAsJsonObject("spec").getAsJsonArray("replicatedJobs")) {
                    JsonObject template = job.getAsJsonObject().getAsJsonObject("template");
                    V1JobSpec.validateJsonElement(template.get("spec"));
                }
            }
            default -> throw new AssertionError("a kind without a check: " + document.get("kind"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"job.yaml", "elastic-job.yaml", "jobset.yaml"})
    void manifestsFitTheTypesOfTheApi(String file) throws IOException {
        for (JsonObject document : documents(file)) {
            validate(document);
        }
    }

    @Test
    void misspeltFieldIsRefused() throws IOException {
        JsonObject job = job("job.yaml");
        job.getAsJsonObject("spec").addProperty("backofLimit", 0);
        assertThatThrownBy(() -> validate(job)).hasMessageContaining("backofLimit");
    }

    @ParameterizedTest
    @ValueSource(strings = {"job.yaml", "elastic-job.yaml"})
    void everyRankHasAPodAndAName(String file) throws IOException {
        JsonObject spec = job(file).getAsJsonObject("spec");
        JsonObject pod = spec.getAsJsonObject("template").getAsJsonObject("spec");
        Map<String, String> values = values(container(pod));
        int size = Integer.parseInt(values.get("JCCL_SIZE"));
        assertThat(spec.get("completions").getAsInt()).isEqualTo(size);
        assertThat(spec.get("parallelism").getAsInt()).isEqualTo(size);
        assertThat(spec.get("completionMode").getAsString()).isEqualTo("Indexed");
        String name = job(file).getAsJsonObject("metadata").get("name").getAsString();
        String subdomain = pod.get("subdomain").getAsString();
        assertThat(values.get("JCCL_RENDEZVOUS")).isEqualTo(name + "-0." + subdomain + ":2900/$(SECRET)");
        JsonObject service = documents(file).get(0);
        assertThat(service.getAsJsonObject("metadata").get("name").getAsString())
                .isEqualTo(subdomain);
        assertThat(service.getAsJsonObject("spec").getAsJsonObject("selector").toString())
                .isEqualTo("{\"job-name\":\"" + name + "\"}");
    }

    @Test
    void elasticJobListsEveryMemberAndReplacesPods() throws IOException {
        JsonObject spec = job("elastic-job.yaml").getAsJsonObject("spec");
        Map<String, String> values =
                values(container(spec.getAsJsonObject("template").getAsJsonObject("spec")));
        String members = IntStream.range(0, spec.get("completions").getAsInt())
                .mapToObj(index -> "train-" + index + ".train:" + values.get("JCCL_MEMBER_PORT"))
                .collect(Collectors.joining(","));
        assertThat(values.get("MEMBERS")).isEqualTo(members);
        assertThat(spec.has("backoffLimit")).isFalse();
        assertThat(spec.get("backoffLimitPerIndex").getAsInt()).isPositive();
    }

    /** Runs the shell command of the elastic Job, with {@code echo} in place of {@code java}. */
    @ParameterizedTest
    @ValueSource(strings = {"", "0", "1", "12"})
    void onlyAReplacedPodJoins(String failures) throws Exception {
        JsonObject pod = job("elastic-job.yaml")
                .getAsJsonObject("spec")
                .getAsJsonObject("template")
                .getAsJsonObject("spec");
        List<String> command = new ArrayList<>();
        container(pod).getAsJsonArray("command").forEach(part -> command.add(part.getAsString()));
        command.set(2, command.get(2).replace("exec java", "echo \"${JCCL_JOIN:-none}\" #"));
        ProcessBuilder shell = new ProcessBuilder(command).redirectErrorStream(true);
        shell.environment().putAll(Map.of("FAILURES", failures, "MEMBERS", "a:1,b:1"));
        Process process = shell.start();
        String printed = new String(process.getInputStream().readAllBytes()).strip();
        assertThat(process.waitFor()).isZero();
        assertThat(printed).isEqualTo(Arrays.asList("", "0").contains(failures) ? "none" : "a:1,b:1");
    }

    private static JsonObject container(JsonObject pod) {
        return pod.getAsJsonArray("containers").get(0).getAsJsonObject();
    }

    /** Returns the environment variables whose value the manifest contains. */
    private static Map<String, String> values(JsonObject container) {
        Map<String, String> values = new TreeMap<>();
        for (JsonElement variable : container.getAsJsonArray("env")) {
            JsonObject one = variable.getAsJsonObject();
            if (one.has("value")) {
                values.put(one.get("name").getAsString(), one.get("value").getAsString());
            }
        }
        return values;
    }
}
