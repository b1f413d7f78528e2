package io.jccl.cli;

import io.jccl.cli.doctor.DoctorCommand;
import io.jccl.cli.launch.RunCommand;
import io.jccl.cli.perf.PerfCommand;
import io.jccl.cli.ps.PsCommand;
import io.jccl.cli.trace.TraceCommand;
import io.jccl.cli.tune.MeasurementRankCommand;
import io.jccl.cli.tune.TuneCommand;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The {@code jccl} command. */
@Command(
        name = "jccl",
        description = {"JCCL: collective communications for the JVM.", ""},
        versionProvider = Version.class,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            PerfCommand.class,
            RunCommand.class,
            PsCommand.class,
            TopoCommand.class,
            TraceCommand.class,
            TuneCommand.class,
            MeasurementRankCommand.class,
            DoctorCommand.class,
            EnvCommand.class,
            CommandLine.HelpCommand.class,
            AutoComplete.GenerateCompletion.class
        },
        footer = {"", "jccl COMMAND --help describes one of them."})
public final class Main {

    @Mixin
    private LogLevelOption logLevel;

    @Option(
            names = {"-h", Program.HELP},
            usageHelp = true,
            description = Program.HELP_DESCRIPTION)
    private boolean help;

    @Option(
            names = {"-V", "--version"},
            versionHelp = true,
            description = "show the version")
    private boolean version;

    private Main() {}

    /** Runs the command and ends the process with its status. */
    public static void main(String[] arguments) {
        Program.run("jccl", Main::new, arguments);
    }

    /** Returns the command line, ready to execute. */
    public static CommandLine commandLine() {
        return Program.commandLine(new Main());
    }
}
