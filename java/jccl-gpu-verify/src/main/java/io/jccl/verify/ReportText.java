package io.jccl.verify;

import io.jccl.cli.output.TextTable;
import io.jccl.cli.perf.GpuNames;
import java.util.List;
import java.util.Locale;

/** Formats a report for people. */
final class ReportText {

    private ReportText() {}

    static String of(Report report) {
        Report.Machine machine = report.machine();
        StringBuilder text = new StringBuilder();
        text.append("gpu-verify of JCCL ")
                .append(report.version())
                .append(" (build ")
                .append(report.build())
                .append("), Java ")
                .append(report.java())
                .append(", ")
                .append(report.date())
                .append('\n')
                .append(machine.host())
                .append(": ")
                .append(machine.kernel())
                .append(", ")
                .append(machine.processor())
                .append(", ")
                .append(machine.cores())
                .append(" cores\n")
                .append("driver: ")
                .append(machine.driver())
                .append('\n')
                .append("GPUs: ")
                .append(machine.gpus().isEmpty() ? "none" : GpuNames.counted(machine.gpus()))
                .append(", used: ")
                .append(machine.used())
                .append("\n\n");
        text.append("Correctness\n")
                .append("tests tagged gpu: ")
                .append(report.tests().successful())
                .append(" successful, ")
                .append(report.tests().failed())
                .append(" failed, ")
                .append(report.tests().skipped())
                .append(" skipped; operations checked by benchmarks: ")
                .append(report.operationsChecked())
                .append("\n\n");
        TextTable mutations = new TextTable("goes wrong on purpose", "protocol", "has to notice", "did", "detail");
        for (Report.Mutation one : report.mutations()) {
            mutations.row(one.name(), one.protocol(), one.expected(), one.noticed() ? "yes" : "NO", one.detail());
        }
        text.append(mutations).append('\n');
        TextTable copies = new TextTable("copy from", "to", "bytes", "GB/s");
        for (Report.Copy one : report.copies()) {
            copies.row("device " + one.from(), "device " + one.to(), "" + one.bytes(), number(one.gbps()));
        }
        text.append(copies).append('\n').append(measurements(report)).append('\n');
        TextTable steps = new TextTable("step", "", "s", "");
        for (Report.Step one : report.steps()) {
            steps.row(
                    one.name(), one.outcome().label(), String.format(Locale.ROOT, "%.1f", one.seconds()), one.reason());
        }
        long notRun = report.steps().stream()
                .filter(one -> one.outcome() == Report.Outcome.NOT_RUN)
                .count();
        return text.append(steps)
                .append("\nresult: ")
                .append(report.result())
                .append(notRun == 0 ? "" : "; steps not run: " + notRun)
                .append('\n')
                .toString();
    }

    private static TextTable measurements(Report report) {
        TextTable table = new TextTable(
                "collective",
                "ranks",
                "as",
                "mode",
                "bytes",
                "by",
                "us",
                "median us",
                "GB/s",
                "bus GB/s",
                "of copy",
                "wrong",
                "NCCL us",
                "NCCL bus GB/s");
        for (Report.Measurement one : report.measurements()) {
            List<Report.Measurement> same = report.nccl().stream()
                    .filter(other -> other.collective().equals(one.collective())
                            && other.ranks() == one.ranks()
                            && other.bytes() == one.bytes())
                    .toList();
            table.row(
                    one.collective(),
                    "" + one.ranks(),
                    one.processes() > 1 ? "processes" : "threads",
                    one.mode(),
                    "" + one.bytes(),
                    one.algorithm() + " " + one.protocol() + " x" + one.channels(),
                    number(one.timeUs()),
                    one.p50Us() == null ? "" : number(one.p50Us()),
                    number(one.algbwGbps()),
                    number(one.busbwGbps()),
                    one.shareOfCopy() == null ? "" : number(100 * one.shareOfCopy()) + " %",
                    one.wrong() == null ? "unchecked" : "" + one.wrong(),
                    same.isEmpty() ? "" : number(same.get(0).timeUs()),
                    same.isEmpty() ? "" : number(same.get(0).busbwGbps()));
        }
        return table;
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, value < 10 ? "%.4f" : "%.1f", value);
    }
}
