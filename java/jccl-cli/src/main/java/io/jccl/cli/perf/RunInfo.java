package io.jccl.cli.perf;

import com.fasterxml.jackson.core.JsonGenerator;
import io.jccl.cli.output.BuildVersion;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.LaunchSettings;
import io.jccl.config.Origin;
import io.jccl.config.Registry;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.nativelib.NativeLoader;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The software, host and placement of a run, as rank 0 knows them; the same for all rows of the run.
 *
 * @param version version of JCCL
 * @param build build id of its native library
 * @param java the JVM's version
 * @param host host of rank 0
 * @param gpus models of the devices in use on that host
 * @param date when the run began, in UTC
 * @param mode how operations followed one another
 * @param transport the transports in use between ranks, joined by {@code +}
 * @param placement hosts and processes of the ranks
 * @param settings the library's settings that are not at their default, by name
 */
record RunInfo(
        String version,
        String build,
        String java,
        HostFacts host,
        List<String> gpus,
        Instant date,
        Mode mode,
        String transport,
        Placement placement,
        Map<String, String> settings) {

    RunInfo {
        gpus = List.copyOf(gpus);
        settings = new TreeMap<>(settings);
    }

    /** Returns the facts about a run that begins now. */
    static RunInfo now(PerfOptions options, String transport, Placement placement, Settings settings) {
        return new RunInfo(
                BuildVersion.get(),
                NativeLoader.buildId(),
                Runtime.version().toString(),
                HostFacts.here(),
                gpus(options, placement.ranksOfFirstHost()),
                Instant.now().truncatedTo(ChronoUnit.SECONDS),
                options.mode(),
                transport,
                placement,
                changed(settings));
    }

    private static List<String> gpus(PerfOptions options, List<Integer> ranks) {
        if (options.memory() != MemoryKind.DEVICE) {
            return List.of();
        }
        return GpuNames.of(ranks.stream()
                .mapToInt(rank -> options.deviceOf(rank).orElseThrow())
                .distinct());
    }

    /**
     * Returns the changed settings without those that differ between ranks: the device, and those that a launcher sets,
     * which may be secret.
     */
    private static Map<String, String> changed(Settings settings) {
        Map<String, String> changed = new TreeMap<>();
        for (Setting<?> setting : Registry.all()) {
            boolean ofOneRank =
                    setting == AlgorithmSettings.DEVICE || setting.group().equals(LaunchSettings.RANK.group());
            if (!ofOneRank && settings.origin(setting).source() != Origin.Source.DEFAULT) {
                changed.put(setting.name(), settings.text(setting));
            }
        }
        return changed;
    }

    /** Writes a field named {@code run} with the facts that are not in each row anyway. */
    void writeTo(JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("run");
        json.writeStringField("version", version);
        json.writeStringField("build", build);
        json.writeStringField("java", java);
        json.writeStringField("date", date.toString());
        json.writeStringField("mode", mode.label());
        json.writeStringField("host", host.name());
        json.writeStringField("kernel", host.kernel());
        json.writeStringField("processor", host.processor());
        json.writeNumberField("cores", host.cores());
        writeArray(json, "gpus", gpus);
        json.writeNumberField("processes", placement.processes());
        writeArray(json, "hosts", placement.hosts());
        json.writeObjectFieldStart("settings");
        for (Map.Entry<String, String> setting : settings.entrySet()) {
            json.writeStringField(setting.getKey(), setting.getValue());
        }
        json.writeEndObject();
        json.writeEndObject();
    }

    private static void writeArray(JsonGenerator json, String name, List<String> values) throws IOException {
        json.writeArrayFieldStart(name);
        for (String value : values) {
            json.writeString(value);
        }
        json.writeEndArray();
    }
}
