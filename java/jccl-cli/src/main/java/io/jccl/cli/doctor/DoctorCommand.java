package io.jccl.cli.doctor;

import com.fasterxml.jackson.core.JsonGenerator;
import io.jccl.BootstrapException;
import io.jccl.cli.doctor.Finding.Status;
import io.jccl.cli.output.Colour;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.output.Json;
import io.jccl.cli.output.Terminal;
import io.jccl.internal.Causes;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The subcommand {@code jccl doctor}. */
@Command(
        name = "doctor",
        description = {
            "Reports everything that would make JCCL slow or fail on this host, each with its remedy.",
            "",
            "The checks read and probe; they change nothing. With --peers, every rank of a job runs this command. It"
                    + " reports whether each rank can connect to all others and whether full-sized packets arrive:"
                    + " jccl run, mpirun or srun -n N jccl doctor --peers",
            ""
        },
        footer = {"", "Exit status: 0 if nothing fails, 1 if something does, 2 usage."},
        sortOptions = false)
public final class DoctorCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = {"-n", "--ranks"},
            paramLabel = "N",
            defaultValue = "0",
            description = "number of ranks that are to run on this host (default: the number of cores)")
    private int ranks;

    @Option(
            names = "--peers",
            description = "check the connections between the ranks that a launcher has started, instead of this"
                    + " host; rank 0 reports the findings of all ranks")
    private boolean peers;

    @Option(
            names = "--prepare-kernels",
            description =
                    "instead of checking, load the kernels on every GPU: drivers before 580 compile them into their"
                            + " cache, which jobs then use")
    private boolean prepareKernels;

    @Option(
            names = {"-v", "--verbose"},
            description = "print also the checks that found nothing wrong")
    private boolean verbose;

    @Option(names = "--json", description = "print JSON, with the checks that found nothing wrong")
    private boolean json;

    /** Returns the path at which the loader of this host would find a library; empty if nowhere. */
    public static Optional<String> library(String name) {
        return Host.here(1).library(name);
    }

    @Override
    public Integer call() {
        if (ranks < 0) {
            throw new ParameterException(
                    spec.commandLine(), "ranks=" + ranks + ": expected at least 1; set it with -n");
        }
        if (peers && prepareKernels) {
            throw new ParameterException(
                    spec.commandLine(), "--peers --prepare-kernels: expected at most one of them; use two commands");
        }
        List<Finding> findings = prepareKernels ? KernelChecks.prepare() : examine(Host.here(ranks));
        if (!findings.isEmpty()) {
            System.out.print(
                    json
                            ? toJson(findings) + "\n"
                            : toText(
                                    findings,
                                    verbose || peers || prepareKernels,
                                    Terminal.colours(Terminal.Stream.OUT)));
        }
        return Doctor.worst(findings) == Status.FAIL ? ExitCode.FAILURE : ExitCode.SUCCESS;
    }

    private List<Finding> examine(Host host) {
        return peers ? examinePeers(host) : Doctor.examine(host);
    }

    private List<Finding> examinePeers(Host host) {
        try {
            return PeerChecks.examine(host);
        } catch (BootstrapException | IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), Causes.describe(e), e);
        }
    }

    /** @param verbose true to print also findings that are fine, false to only count them */
    static String toText(List<Finding> findings, boolean verbose, boolean colours) {
        List<Finding> shown = findings.stream()
                .filter(finding -> verbose || finding.status() != Status.OK)
                .toList();
        int width = shown.stream()
                .mapToInt(finding -> finding.check().length())
                .max()
                .orElse(0);
        StringBuilder out = new StringBuilder();
        for (Finding finding : shown) {
            String status = String.format("%-4s", finding.status().label());
            out.append(colour(finding.status()).paint(status, colours))
                    .append("  ")
                    .append(finding.check())
                    .append(" ".repeat(width - finding.check().length() + 2))
                    .append(finding.detail())
                    .append('\n');
            if (finding.remedy() != null) {
                out.append(" ".repeat(width + 8))
                        .append("remedy: ")
                        .append(finding.remedy())
                        .append('\n');
            }
        }
        long fine = count(findings, Status.OK);
        return out.append(findings.size())
                .append(" checks: ")
                .append(fine)
                .append(fine == 0 || verbose ? " fine, " : " fine (-v shows them), ")
                .append(counted(count(findings, Status.WARN), "warning"))
                .append(", ")
                .append(counted(count(findings, Status.FAIL), "failure"))
                .append('\n')
                .toString();
    }

    private static long count(List<Finding> findings, Status status) {
        return findings.stream().filter(finding -> finding.status() == status).count();
    }

    private static String counted(long count, String what) {
        return count + " " + what + (count == 1 ? "" : "s");
    }

    private static Colour colour(Status status) {
        return switch (status) {
            case OK -> Colour.GREEN;
            case WARN -> Colour.YELLOW;
            case FAIL -> Colour.RED;
        };
    }

    static String toJson(List<Finding> findings) {
        return Json.pretty(json -> {
            json.writeStartObject();
            json.writeStringField("status", Doctor.worst(findings).label());
            json.writeArrayFieldStart("checks");
            for (Finding finding : findings) {
                write(json, finding);
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }

    private static void write(JsonGenerator json, Finding finding) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", finding.check());
        json.writeStringField("status", finding.status().label());
        json.writeStringField("detail", finding.detail());
        json.writeStringField("remedy", finding.remedy());
        json.writeEndObject();
    }
}
