/**
 * A launcher: one Perl process that starts commands on request, fed by frames on its standard input (see launch-frame.ts), and reports ends
 * as lines on its standard output. A constant: it never contains user input. Perl, because it is on every Debian as the shell is
 * (perl-base). A shell cannot call setsid(2), or distinguish every signal from an exit, without starting another program, which doubles the
 * price of a run. docs/design/perl-launcher.md has the numbers.
 *
 *   agent --frames--> launcher --frames--> lane --fork, setsid, exec--> command
 *     ^                                     |
 *     +------------- lines -----------------+
 *
 * - A lane is a fork of the launcher that runs one command at a time, waits for it, leaves its end
 *   in the state file and then reports to the agent. The agent chooses the lane of each run.
 *   A lane belongs to one run while that runs, so that no single death loses many exit codes.
 * - A run is claimed by renaming a prepared directory to the run's: rename(2) refuses a directory
 *   that holds anything, so of two lanes only one continues. Prepared ones are in a directory of this
 *   launcher's own; once that is moved away, no lane of it can claim anything any more. They are
 *   used again when a run left nothing in them: making an inode is what costs most on a busy ext4.
 * - The state file is overwritten in place, newlines first: an allocated block costs nothing.
 * - An output file is used again only when it is empty and a lease shows that no process has it open,
 *   or a daemon of an earlier run could write into the output of a later one.
 * - The command leads a session of its own. Its identity is in the state file before it begins, and the
 *   lane looks for a stop after that: an agent that wrote a stop and finds no session knows that the
 *   command will not begin.
 * - Signals are caught, not ignored: lanes survive a TERM to everything, and the command has them
 *   at their defaults. All descriptors above 2 are closed by exec ($^F).
 * - The kernel copies each page that a child writes to before exec, and the child resolves each function on its first call.
 *   So a lane does as much as it can before the fork, in existing variables.
 * - When standard input ends, the launcher ends, and each lane when its command has.
 */
export const LAUNCHER = String.raw`
use strict;
use Config;

my ($runs, $spares) = @ARGV;
my ($EINTR, $EEXIST, $ENOTEMPTY) = (4, 17, 39);
my ($F_SETLEASE, $F_WRLCK, $F_UNLCK) = (1024, 1, 2);
my $BLANK = "\n" x 1024;
my $line = "\0" x 1000;
my $made = 0;
my (%base, %added); # variables: those of every command, and of the latest one
my ($dir, $stopping, $state, $stat, @argv, $script, $group, $procs); # of the latest run

$SIG{$_} = sub { } for qw(HUP INT QUIT ALRM TERM USR1 USR2 PIPE);
$SIG{CHLD} = "IGNORE";
$0 = "busbar launcher $spares";
open my $agent, ">&", \*STDOUT or exit 1;
open STDOUT, ">", "/dev/null" or exit 1;

# By the ABI of this very perl. Elsewhere POSIX knows it, but makes every fork dearer.
my ($abi) = $Config{archname} =~ /^(x86_64|aarch64|riscv64)-linux-gnu(?!x32)/;
my $setsid = {x86_64 => 112, aarch64 => 157, riscv64 => 157}->{$abi // ""};
my $wait4 = {x86_64 => 61, aarch64 => 260, riscv64 => 260}->{$abi // ""};
my $clock_gettime = {x86_64 => 228, aarch64 => 113, riscv64 => 113}->{$abi // ""};
my ($CLOCK_BOOTTIME, $status, $now, $rusage) = (7, "\0" x 4, "\0" x 16, "\0" x 144);
require POSIX if !$setsid;

sub lead_session {
  if ($setsid) { syscall $setsid }
  else { POSIX::setsid() }
  return getpgrp(0) == $$;
}

sub tell_agent { syswrite $agent, "$_[0]\n" }

sub take {
  my ($from, $length) = @_;
  my $bytes = "";
  while (length $bytes < $length) {
    my $got = sysread $from, $bytes, $length - length $bytes, length $bytes;
    next if !defined $got && $! == $EINTR;
    return undef if !$got;
  }
  return $bytes;
}

sub put {
  my ($to, $bytes) = @_;
  my $at = 0;
  while ($at < length $bytes) {
    my $got = syswrite $to, $bytes, length($bytes) - $at, $at;
    next if !defined $got && $! == $EINTR;
    return 0 if !defined $got;
    $at += $got;
  }
  return 1;
}

sub own_stat {
  open $stat, "<:unix", "/proc/self/stat" or return "";
  sysread $stat, $line, 1000;
  return $line;
}

sub open_output {
  my ($handle, $path) = @_;
  open $handle, ">>:unix", $path or return 0;
  return 1 if !-s $handle && fcntl($handle, $F_SETLEASE, $F_WRLCK)
    && fcntl($handle, $F_SETLEASE, $F_UNLCK);
  unlink $path;
  return open $handle, ">>:unix", $path;
}

sub is_untouched {
  my ($path) = @_;
  return 0 if ((stat $path)[2] & 07777) != 0700;
  opendir my $entries, $path or return 0;
  my @names = readdir $entries;
  return @names == 2;
}

sub set_environment {
  my %stale = %added;
  %added = ();
  for my $variable (@_) {
    my $at = index $variable, "=";
    my $name = substr $variable, 0, $at;
    $ENV{$name} = substr $variable, $at + 1;
    $added{$name} = 1;
    delete $stale{$name};
  }
  for my $name (keys %stale) {
    if (exists $base{$name}) { $ENV{$name} = $base{$name} }
    else { delete $ENV{$name} }
  }
}

sub claim {
  my ($self, $spare) = @_;
  my $from = "$spares/" . ($spare || "$$-" . ++$made);
  if (!$spare) {
    mkdir $from, 0700 or return $! + 0;
    mkdir "$from/work", 0700 or return $! + 0;
  }
  open $state, ($spare ? "+<:unix" : "+>:unix"), "$from/state" or return $! + 0;
  defined syswrite($state, $BLANK) or return $! + 0;
  sysseek $state, 0, 0;
  syswrite $state, $self;
  open_output(\*STDOUT, "$from/stdout") or return $! + 0;
  open_output(\*STDERR, "$from/stderr") or return $! + 0;
  rename $from, $dir or return $! + 0;
  return 0 if $script eq "";
  open my $file, ">:unix", "$dir/script" or return $! + 0;
  chmod 0700, $file;
  put($file, substr $script, 1) or return $! + 0;
  return 0;
}

sub enter {
  my ($cwd) = @_;
  chdir $cwd or return 0;
  my @named = stat $ENV{PWD} // "";
  my @here = stat ".";
  if (!@named || $named[0] != $here[0] || $named[1] != $here[1]) {
    $ENV{PWD} = readlink "/proc/self/cwd";
    $added{PWD} = 1;
  }
  return 1;
}

sub refuse {
  syswrite $state, "$_[0]\n";
  exit 127;
}

sub boot_us {
  return 0 if !$clock_gettime;
  syscall $clock_gettime, $CLOCK_BOOTTIME, $now;
  my ($seconds, $ns) = unpack "qq", $now;
  return $seconds * 1_000_000 + int($ns / 1_000);
}

# The status of wait4(2), and what the command used: see parseUsage.
sub wait_for {
  my ($pid, $began_us) = @_;
  if (!$wait4) {
    waitpid $pid, 0;
    return ($?, "-");
  }
  1 while syscall($wait4, $pid, $status, 0, $rusage) < 0 && $! == $EINTR;
  my @used = unpack "q10", $rusage;
  my $cpu_us = ($used[0] + $used[2]) * 1_000_000 + $used[1] + $used[3];
  my $wall_us = boot_us() - $began_us;
  return (unpack("i", $status), "$cpu_us,$wall_us,$used[4],$used[9]");
}

sub epoch_ms {
  return time * 1_000 if !$clock_gettime;
  syscall $clock_gettime, 0, $now;
  my ($seconds, $ns) = unpack "qq", $now;
  return $seconds * 1_000 + int($ns / 1_000_000);
}

sub run_command {
  my ($name) = @_; # of the lane and its run
  my $began_us = boot_us();
  my $pid = fork;
  if (defined $pid && $pid == 0) {
    $SIG{TERM} = "DEFAULT";
    refuse("ungrouped " . ($! + 0)) if $group && !(open($procs, ">>:unix", "$group/cgroup.procs") && syswrite($procs, "0"));
    lead_session() or refuse("unstarted 1");
    syswrite $state, "session " . own_stat();
    refuse("unstarted 0") if -e $stopping;
    exec { $argv[0] } @argv;
    refuse("unstarted " . ($! + 0));
  }
  return (0, "unforked " . ($! + 0), "-") if !defined $pid;
  tell_agent("$name started " . epoch_ms());
  my ($how, $used) = wait_for($pid, $began_us);
  return ($pid, "signal " . ($how & 127), $used) if $how & 127;
  my $code = $how >> 8;
  if ($code == 127) {
    my $at = sysseek $state, 0, 1;
    sysseek $state, 0, 0;
    sysread $state, my $text, 1024;
    sysseek $state, $at, 0;
    return ($pid, $1, "-") if $text =~ /^((?:unstarted|ungrouped) \d+)$/m;
  }
  return ($pid, "exit $code", $used);
}

sub work {
  my ($number, $self, $frame) = @_;
  my ($spare, $key, $cwd, $env, $arguments, $rest);
  ($spare, $key, $cwd, $group, $env, $arguments, $rest) = split /\0/, $frame, 7;
  @argv = split /\0/, $rest, $env + $arguments + 1;
  $script = pop @argv;
  set_environment(splice @argv, 0, $env);
  $dir = "$runs/$key";
  $stopping = "$dir/stopping";
  if (my $error = claim($self, $spare)) {
    return "$key taken" if $error == $EEXIST || $error == $ENOTEMPTY;
    return "$key refused $error";
  }
  my ($pid, $outcome, $used) =
    enter($cwd || "$dir/work") ? run_command("$number $key") : (0, "nowhere " . ($! + 0), "-");
  syswrite $state, "used $used\n$outcome\nend\n";
  my $is_stopping = -e $stopping;
  kill "KILL", -$pid if $pid && !$is_stopping;
  my $bytes = (-s STDOUT || 0) . " " . (-s STDERR || 0);
  my $is_clean = !$is_stopping && $script eq "" && ($cwd ne "" || is_untouched("$dir/work"));
  return "$key ended $bytes " . ($is_clean ? 1 : 0) . " $used $outcome";
}

sub be_lane {
  my ($number, $from) = @_;
  $SIG{CHLD} = "DEFAULT";
  open STDIN, "<", "/dev/null";
  $0 = "busbar lane $spares";
  my $self = "lane " . own_stat();
  while (defined(my $head = take($from, 8))) {
    my $frame = take($from, (unpack "NN", $head)[1]);
    last if !defined $frame;
    my $said = work($number, $self, $frame);
    chdir "/";
    open STDOUT, ">", "/dev/null";
    open STDERR, ">", "/dev/null";
    close $state if $state;
    tell_agent("$number $said");
  }
  exit 0;
}

my (%lanes, %number_of); # number => what it reads, life => number
my %life_of; # number => what ends when the lane does
my $newest = 0; # the agent counts up: a missing lane up to this number is gone, and the agent starts its run elsewhere
my $watched = "";

sub open_lane {
  my ($number) = @_;
  $newest = $number;
  pipe my $theirs, my $ours or return undef;
  pipe my $life, my $alive or return undef;
  my $pid = fork;
  return undef if !defined $pid;
  if ($pid == 0) {
    close $_ for $ours, $life, values %lanes, values %life_of;
    be_lane($number, $theirs);
  }
  $life_of{$number} = $life;
  $number_of{fileno $life} = $number;
  vec($watched, fileno $life, 1) = 1;
  return $lanes{$number} = $ours;
}

sub drop_lane {
  my ($number) = @_;
  my $life = delete $life_of{$number} or return;
  delete $number_of{fileno $life};
  vec($watched, fileno $life, 1) = 0;
  close $life;
  close delete $lanes{$number};
}

sub lose_lane {
  my ($number) = @_;
  drop_lane($number);
  tell_agent("$number gone");
}

my $length = unpack "N", take(\*STDIN, 4) // exit 0;
%base = map { /\A([^=]*)=(.*)\z/s } split /\0/, take(\*STDIN, $length) // exit 0;
%ENV = %base;
vec($watched, fileno STDIN, 1) = 1;
tell_agent("ready");
while (1) {
  my $ready = $watched;
  next if select($ready, undef, undef, undef) < 1;
  for my $fd (keys %number_of) {
    lose_lane($number_of{$fd}) if vec $ready, $fd, 1;
  }
  next if !vec $ready, fileno STDIN, 1;
  my $head = take(\*STDIN, 8) // last;
  my ($number, $length) = unpack "NN", $head;
  if ($length == 0) {
    drop_lane($number);
    next;
  }
  my $frame = take(\*STDIN, $length) // last;
  my $lane = $lanes{$number};
  next if !$lane && $number <= $newest;
  $lane //= open_lane($number);
  lose_lane($number) if !$lane || !put($lane, $head . $frame);
}
`;

/** Possible paths of Perl, by preference; PATH is not searched, because it is the user's. */
export const PERLS = ["/usr/bin/perl", "/usr/local/bin/perl", "/bin/perl"] as const;
