package io.jccl.verify;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The results of {@code gpu-verify}, in the form of {@code docs/schema/gpu-verify.schema.json}.
 *
 * @param version version of JCCL
 * @param build build id of its native library
 * @param java the JVM's version
 * @param date when it began, in UTC
 * @param machine the host
 * @param steps the steps that ran, and why others did not
 * @param mutations the deliberate errors, and whether they were noticed
 * @param tests numbers of the tests tagged {@code gpu}
 * @param copies the limits with which bandwidths are compared
 * @param measurements measurements of operations
 * @param nccl measurements of nccl-tests on the same GPUs
 * @param records lines of JSON that the programs of a part printed, with the name of the step
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
        List<Measurement> nccl,
        List<Record> records) {

    private static final ObjectMapper MAPPER = new ObjectMapper()
            .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(SerializationFeature.INDENT_OUTPUT);

    /**
     * @param driver the driver as ranks use it; if there is no GPU, the reason for that
     * @param gpus the model of each device that this process can see
     * @param used number of devices in use
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

    /** @param reason why it failed or was not run; empty if it ended well */
    record Step(String name, Outcome outcome, double seconds, String reason) {}

    /**
     * @param name the deliberate error; for the control run, a text that says that there is none
     * @param expected what had to notice the error
     * @param noticed true if the error was noticed; for the control run, true if nothing was noticed
     */
    record Mutation(String name, String protocol, String expected, boolean noticed, String detail) {}

    /**
     * A line of JSON that a program printed.
     *
     * @param step name of the step
     * @param row the line
     */
    record Record(String step, JsonNode row) {}

    /** Numbers of tests. */
    record Tests(int successful, int failed, int skipped) {}

    /** Bandwidth of copies from one device to another or to itself. */
    record Copy(int from, int to, long bytes, double gbps) {}

    /**
     * One size, out of place.
     *
     * @param processes number of processes that contain the ranks
     * @param mode how operations followed one another: await, stream or graph
     * @param p50Us median time of an operation; null if the program does not tell it
     * @param shareOfCopy bus bandwidth times the ranks of a GPU, divided by the copy limit; null if that was not
     *     measured, or for one rank
     * @param wrong number of wrong elements in place and out of place; null if nothing was checked
     * @param checked number of operations whose every element was compared
     */
    record Measurement(
            String collective,
            int ranks,
            int processes,
            String mode,
            long bytes,
            String algorithm,
            String protocol,
            int channels,
            double timeUs,
            Double p50Us,
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
                new ArrayList<>(),
                new ArrayList<>());
    }

    Report with(Tests counted) {
        return new Report(
                version, build, java, date, machine, steps, mutations, counted, copies, measurements, nccl, records);
    }

    /** Returns {@code ok}, {@code failed}, or {@code no_gpu} if there is no GPU and all steps that need none passed. */
    @JsonProperty
    String result() {
        if (hasFailed()) {
            return "failed";
        }
        return machine.gpus().isEmpty() ? "no_gpu" : "ok";
    }

    /** Returns the number of operations whose every element was compared. */
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
