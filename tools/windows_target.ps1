<#
.SYNOPSIS
Writes what this Windows has as a list that 'wheelfix scan --target FILE' reads.

.DESCRIPTION
Lists the DLLs of System32 with their versions, on request with what they export, and the API sets of this machine.
It needs no rights of an administrator, no module and no program: Windows PowerShell 5.1 and PowerShell 7 run it.
Nothing but the output file is written, and that only when all is read. The format is described in docs/howto/targets.md.
Where policies allow only the constrained language of PowerShell, use tools/make_target_list.py, which needs Python.

.PARAMETER Output
The file to write.

.PARAMETER Name
How the target is called in reports; by default made from the edition and the build.

.PARAMETER Exports
Also read what every DLL exports: exact answers about functions, for a minute or two of work.

.PARAMETER Folder
Another folder than System32, such as C:\Windows\SysWOW64 for programs of 32 bits.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File windows_target.ps1 -Output server.txt -Exports
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory = $true)] [string] $Output,
    [string] $Name = '',
    [switch] $Exports,
    [string] $Folder = ''
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$Endings = @('.acm', '.ax', '.cpl', '.dll', '.drv', '.ocx')
$Machines = @{ 0x8664 = 'amd64'; 0x014C = 'x86'; 0xAA64 = 'arm64' }

if ($ExecutionContext.SessionState.LanguageMode -ne 'FullLanguage') {
    throw 'A policy of this machine allows only the constrained language of PowerShell, which cannot read files as bytes. Use tools/make_target_list.py with Python.'
}

function Get-Sections([byte[]] $Data, [int] $Headers) {
    $count = [BitConverter]::ToUInt16($Data, $Headers + 6)
    $start = $Headers + 24 + [BitConverter]::ToUInt16($Data, $Headers + 20)
    for ($number = 0; $number -lt $count; $number++) {
        $at = $start + 40 * $number
        if ($at + 40 -gt $Data.Length) { return }
        [PSCustomObject]@{
            Name    = [Text.Encoding]::ASCII.GetString($Data, $at, 8).TrimEnd([char] 0)
            Size    = [BitConverter]::ToUInt32($Data, $at + 8)
            Address = [BitConverter]::ToUInt32($Data, $at + 12)
            RawSize = [BitConverter]::ToUInt32($Data, $at + 16)
            Offset  = [BitConverter]::ToUInt32($Data, $at + 20)
        }
    }
}

function Get-Offset($Sections, [long] $Address) {
    foreach ($section in $Sections) {
        $inside = $Address - $section.Address
        if ($inside -ge 0 -and $inside -lt $section.RawSize) { return [long] $section.Offset + $inside }
    }
    return [long] -1
}

function Get-Headers([byte[]] $Data) {
    if ($Data.Length -lt 64 -or $Data[0] -ne 0x4D -or $Data[1] -ne 0x5A) { return -1 }
    $at = [BitConverter]::ToInt32($Data, 60)
    if ($at -lt 0 -or $at + 24 -gt $Data.Length -or [BitConverter]::ToUInt32($Data, $at) -ne 0x4550) { return -1 }
    return $at
}

function Get-Name([byte[]] $Data, [long] $At) {
    if ($At -lt 0 -or $At -ge $Data.Length) { return '' }
    $end = [Array]::IndexOf($Data, [byte] 0, [int] $At)
    if ($end -le $At -or $end - $At -gt 4096) { return '' }
    return [Text.Encoding]::ASCII.GetString($Data, [int] $At, [int] ($end - $At))
}

function Get-Ranges($Numbers) {
    $first = -1
    $last = -2
    foreach ($number in $Numbers) {
        if ($number -eq $last + 1) { $last = $number; continue }
        if ($first -ge 0) { if ($last -gt $first) { "@$first-$last" } else { "@$first" } }
        $first = $number
        $last = $number
    }
    if ($first -ge 0) { if ($last -gt $first) { "@$first-$last" } else { "@$first" } }
}

function Get-Exports([byte[]] $Data, [int] $Headers) {
    $optional = $Headers + 24
    $wide = [BitConverter]::ToUInt16($Data, $optional) -eq 0x20B
    if ($wide) { $directories = $optional + 112 } else { $directories = $optional + 96 }
    if ([BitConverter]::ToUInt32($Data, $directories - 4) -lt 1) { return }
    $sections = @(Get-Sections $Data $Headers)
    $table = Get-Offset $sections ([BitConverter]::ToUInt32($Data, $directories))
    if ([BitConverter]::ToUInt32($Data, $directories) -eq 0 -or $table -lt 0 -or $table + 40 -gt $Data.Length) { return }
    $base = [BitConverter]::ToUInt32($Data, $table + 16)
    $functions = [BitConverter]::ToUInt32($Data, $table + 20)
    $names = [BitConverter]::ToUInt32($Data, $table + 24)
    $addresses = Get-Offset $sections ([BitConverter]::ToUInt32($Data, $table + 28))
    $pointers = Get-Offset $sections ([BitConverter]::ToUInt32($Data, $table + 32))
    if ($functions -gt 65536 -or $names -gt 65536 -or $addresses -lt 0) { return }
    $found = New-Object 'System.Collections.Generic.List[string]'
    for ($number = 0; $pointers -ge 0 -and $number -lt $names; $number++) {
        $address = [BitConverter]::ToUInt32($Data, $pointers + 4 * $number)
        $name = Get-Name $Data (Get-Offset $sections $address)
        if ($name -and $name -notmatch '\s') { $found.Add($name) }
    }
    $found.Sort([StringComparer]::Ordinal)
    $found
    $ordinals = for ($number = 0; $number -lt $functions; $number++) {
        if ([BitConverter]::ToUInt32($Data, $addresses + 4 * $number) -ne 0) { [long] $base + $number }
    }
    if ($null -ne $ordinals) { Get-Ranges $ordinals }
}

function Get-ApiSets([string] $Path) {
    # Version 6 of the schema, that of Windows 10 and later: seven numbers, then entries of six, and values of five.
    $data = [IO.File]::ReadAllBytes($Path)
    $headers = Get-Headers $data
    if ($headers -lt 0) { return }
    $section = @(Get-Sections $data $headers) | Where-Object { $_.Name -eq '.apiset' } | Select-Object -First 1
    if ($null -eq $section) { return }
    $start = [int] $section.Offset
    if ([BitConverter]::ToUInt32($data, $start) -ne 6) { return }
    $count = [BitConverter]::ToUInt32($data, $start + 12)
    $entries = $start + [BitConverter]::ToUInt32($data, $start + 16)
    for ($number = 0; $number -lt $count; $number++) {
        $entry = $entries + 24 * $number
        $name = $start + [BitConverter]::ToUInt32($data, $entry + 4)
        $length = [BitConverter]::ToUInt32($data, $entry + 8)
        $value = $start + [BitConverter]::ToUInt32($data, $entry + 16)
        $values = [BitConverter]::ToUInt32($data, $entry + 20)
        $hosted = $false
        for ($index = 0; $index -lt $values; $index++) {
            if ([BitConverter]::ToUInt32($data, $value + 20 * $index + 16) -ne 0) { $hosted = $true }
        }
        if ($hosted) { [Text.Encoding]::Unicode.GetString($data, [int] $name, [int] $length).ToLowerInvariant() + '.dll' }
    }
}

function Get-Value($Key, [string] $Name, $Default) {
    # Strict mode stops at a value that a Windows does not have.
    if ($Key.PSObject.Properties[$Name]) { return $Key.PSObject.Properties[$Name].Value }
    return $Default
}

function Write-Words($Writer, $Words) {
    $line = ''
    foreach ($word in $Words) {
        if ($line.Length -gt 0 -and $line.Length + $word.Length -gt 115) { $Writer.WriteLine($line); $line = '' }
        $line += " $word"
    }
    if ($line.Length -gt 0) { $Writer.WriteLine($line) }
}

# A 32-bit PowerShell sees SysWOW64 under the name of System32.
$native = Join-Path $env:SystemRoot 'Sysnative'
if (-not (Test-Path -LiteralPath $native)) { $native = Join-Path $env:SystemRoot 'System32' }
if (-not $Folder) { $Folder = $native }
$Folder = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Folder)
$kernelFile = Join-Path $Folder 'kernel32.dll'
if (-not (Test-Path -LiteralPath $kernelFile)) { throw "$Folder has no kernel32.dll: name a folder such as System32." }
$current = Get-ItemProperty 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
$build = [int] (Get-Value $current 'CurrentBuildNumber' 0)
$edition = [string] (Get-Value $current 'EditionID' 'unknown')
$kind = [string] (Get-Value $current 'InstallationType' '')
$update = [int] (Get-Value $current 'UBR' 0)
$date = [DateTime]::UtcNow.ToString('yyyy-MM-dd', [Globalization.CultureInfo]::InvariantCulture)
if (-not $Name) { $Name = "$edition-$build".ToLowerInvariant() }
$Name = $Name -replace '[^A-Za-z0-9._-]', '-'
$kernel = [IO.File]::ReadAllBytes($kernelFile)
$machine = $Machines[[int] [BitConverter]::ToUInt16($kernel, (Get-Headers $kernel) + 4)]
if (-not $machine) { $machine = 'any' }

$path = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Output)
# A list that was cut short would call every DLL after the cut absent: it gets its name when it is whole.
$unfinished = "$path.unfinished"
$writer = New-Object IO.StreamWriter($unfinished, $false, (New-Object Text.UTF8Encoding($false)))
$writer.NewLine = "`n"
try {
    $source = "tools/windows_target.ps1 on build $build.$update, $edition"
    $writer.WriteLine('wheelfix target 1')
    $writer.WriteLine("name: $Name")
    $writer.WriteLine("title: Windows build $build.$update, $edition $kind".TrimEnd())
    $writer.WriteLine("build: $build")
    $writer.WriteLine("date: $date")
    $writer.WriteLine('base: none')
    $writer.WriteLine("machine: $machine")
    $writer.WriteLine('')
    $writer.WriteLine('[has]')
    $writer.WriteLine("source: $source")
    $writer.WriteLine("date: $date")
    $files = @(Get-ChildItem -LiteralPath $Folder -File -Force -ErrorAction SilentlyContinue |
        Where-Object { $Endings -contains $_.Extension.ToLowerInvariant() -and $_.Name -notmatch '\s' } |
        Sort-Object -Property Name)
    $done = 0
    foreach ($file in $files) {
        $done++
        Write-Progress -Activity 'Reading DLLs' -Status $file.Name -PercentComplete (100 * $done / $files.Count)
        try {
            $info = $file.VersionInfo
            $parts = @($info.FileMajorPart, $info.FileMinorPart, $info.FileBuildPart, $info.FilePrivatePart)
            $version = ' ' + ($parts -join '.')
        } catch {
            $version = ''  # a file that may not be read is listed all the same
        }
        $writer.WriteLine($file.Name.ToLowerInvariant() + $version)
        if (-not $Exports) { continue }
        try {
            $data = [IO.File]::ReadAllBytes($file.FullName)
            $headers = Get-Headers $data
            if ($headers -ge 0) { Write-Words $writer @(Get-Exports $data $headers) }
        } catch {
            Write-Warning "$($file.Name): $($_.Exception.Message)"
        }
    }
    # SysWOW64 has no schema of its own: there is one for the whole machine.
    $schema = Join-Path $Folder 'apisetschema.dll'
    if (-not (Test-Path -LiteralPath $schema)) { $schema = Join-Path $native 'apisetschema.dll' }
    $contracts = @()
    if (Test-Path -LiteralPath $schema) { $contracts = @(Get-ApiSets $schema | Sort-Object -Unique) }
    if ($contracts.Count -gt 0) {
        $writer.WriteLine('')
        $writer.WriteLine('[api sets]')
        $writer.WriteLine("source: $source, apisetschema.dll")
        $writer.WriteLine("date: $date")
        foreach ($contract in $contracts) { $writer.WriteLine($contract) }
    }
} finally {
    $writer.Close()
}
Move-Item -LiteralPath $unfinished -Destination $path -Force
Write-Host "$($files.Count) DLLs and $($contracts.Count) API sets written to $path"
