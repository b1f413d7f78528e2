package io.jccl.cli.verify;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What was found, by {@code docs/schema/gpu-verify.schema.json}.
 *
 * @param version of JCCL
 * @param build of its native library
 * @param java the JVM's version
 * @param date when it began, in UTC
 * @param machine where
 * @param steps what was run, or not and why
 * @param mutations what went wrong on purpose, and whether it was noticed
 * @param tests those tagged {@code gpu}
 * @param copies the limits that bandwidth is compared with
 * @param measurements of operations
 * @param nccl measurements of nccl-tests on the same GPUs
 */
record Report(
        String version,
        String build,
        String java,
        String date,
        Machine machine,
        List<Step> steps,
        List<Mutation> mutations,
        Tests tests,
        List<Copy> copies,
        List<Measurement> measurements,
        List<Measurement> nccl) {

    private static final ObjectMapper MAPPER = new ObjectMapper()
            .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(SerializationFeature.INDENT_OUTPUT);

    /**
     * @param driver as ranks use it; why not, where there is no GPU
     * @param gpus the models, one a device that this process can see
     * @param used how many of them
     */
    record Machine(
            String host, String kernel, String processor, int cores, String driver, List<String> gpus, int used) {}

    /** How a step ended. */
    enum Outcome {
        OK,
        FAILED,
        NOT_RUN;

        @JsonValue
        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * @param reason why it failed or was not run, else what there is to say
     */
    record Step(String name, Outcome outcome, double seconds, String reason) {}

    /**
     * @param name what went wrong on purpose; of the control, that nothing did
     * @param expected what had to notice it
     * @param noticed whether it did; of the control, whether it stayed silent
     */
    record Mutation(String name, String protocol, String expected, boolean noticed, String detail) {}

    /** Numbers of tests. */
    record Tests(int successful, int failed, int skipped) {}

    /** From a device to a device, the same or another. */
    record Copy(int from, int to, long bytes, double gbps) {}

    /**
     * One size, out of place.
     *
     * @param processes in which the ranks are
     * @param shareOfCopy busbw times the ranks of a GPU by the copy limit; null where that was not measured, or for one rank
     * @param wrong elements in place and out of place; null if nothing was checked
     * @param checked operations whose every element was compared
     */
    record Measurement(
            String collective,
            int ranks,
            int processes,
            long bytes,
            String algorithm,
            String protocol,
            int channels,
            double timeUs,
            double algbwGbps,
            double busbwGbps,
            Double shareOfCopy,
            Long wrong,
            int checked) {}

    static Report begin(String version, String build, String date, Machine machine) {
        return new Report(
                version,
                build,
                Runtime.version().toString(),
                date,
                machine,
                new ArrayList<>(),
                new ArrayList<>(),
                new Tests(0, 0, 0),
                new ArrayList<>(),
                new ArrayList<>(),
                new ArrayList<>());
    }

    Report with(Tests counted) {
        return new Report(version, build, java, date, machine, steps, mutations, counted, copies, measurements, nccl);
    }

    /** {@code ok}, {@code failed}, or {@code no_gpu}, where what needs none passed. */
    @JsonProperty
    String result() {
        if (hasFailed()) {
            return "failed";
        }
        return machine.gpus().isEmpty() ? "no_gpu" : "ok";
    }

    /** Operations whose every element was compared. */
    @JsonProperty
    long operationsChecked() {
        return measurements.stream().mapToLong(Measurement::checked).sum();
    }

    @JsonIgnore
    boolean hasFailed() {
        return steps.stream().anyMatch(step -> step.outcome() == Outcome.FAILED);
    }

    void write(Path file) throws IOException {
        MAPPER.writeValue(file.toFile(), this);
    }
}
